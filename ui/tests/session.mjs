// Sessions: tokens that are wrong, that work once, and that only read; the cookie; the end.
//
//   node session.mjs BASE TOKEN READ_TOKEN APPLICATION

import assert from "node:assert/strict";
import { expectAccessible } from "./support/accessibility.mjs";
import { scenario } from "./support/scenario.mjs";

await scenario(async (it) => {
  const [readToken, application] = it.more;
  const form = async () => {
    const page = await it.page();
    await page.goto(`${it.base}/dashboard/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    return page;
  };
  const signIn = async (page, token) => {
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
  };
  const overview = (page) => page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  // A wrong token.
  const first = await form();
  await expectAccessible(first, "the form");
  await signIn(first, "a wrong token, long enough");
  await first.getByRole("alert").waitFor();
  await signIn(first, it.token);
  await overview(first);
  const [cookie] = await first.context().cookies();
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite], [`corral_session_${new URL(it.base).port}`, true, "Strict"]);
  assert.equal(await first.evaluate(() => document.cookie), "");
  await first.reload();
  await overview(first);

  // A token that works once, and leaves no trace in the address.
  const { body } = await it.api("POST", "/dashboard/tokens");
  const once = await it.page();
  await once.goto(`${it.base}/dashboard/#token=${body.token}`);
  await overview(once);
  assert.ok(!once.url().includes(body.token), once.url());
  const again = await it.page();
  await again.goto(`${it.base}/dashboard/#token=${body.token}`);
  await again.getByRole("alert").waitFor();

  // A session that only reads: everything is shown, and nothing can be done.
  const reader = await it.open("overview", { token: readToken });
  await reader.getByText("Reading only").waitFor();
  await it.show(reader, `applications/${encodeURIComponent(application)}`);
  const restart = reader.getByRole("button", { name: "Restart", exact: true });
  assert.equal(await restart.getAttribute("aria-disabled"), "true");
  await restart.focus();
  await reader.getByRole("tooltip").filter({ hasText: "This session may only read." }).first().waitFor();
  await restart.click({ force: true });
  assert.equal(await reader.getByRole("dialog").count(), 0);
  await it.show(reader, "configuration");
  assert.equal(await reader.getByLabel("Configuration as JSON").getAttribute("readonly"), "");
  await expectAccessible(reader, "a session that only reads");
  const status = await reader.evaluate(async () => {
    const init = { method: "POST", headers: { "Content-Type": "application/json" } };
    return [
      (await fetch("../control/applications/x/restart", init)).status,
      (await fetch("../config", { ...init, method: "PUT", body: "{}" })).status,
      (await fetch("../config")).status,
    ];
  });
  assert.deepEqual(status, [403, 403, 200]);

  // The end.
  await first.getByRole("button", { name: "Sign out" }).click();
  await first.getByRole("heading", { name: "Sign in" }).waitFor();
  await first.reload();
  await first.getByRole("heading", { name: "Sign in" }).waitFor();
});
