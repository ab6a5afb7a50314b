// Figures are live, and come again after the daemon's controller or the whole daemon was replaced.
//
//   node live.mjs BASE TOKEN [SESSION]...
//
// For each SESSION, it prints "ready" when something is to be replaced, and waits for a line. The word says what becomes
// of the session by that: "kept" or "over".

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { PATIENCE, scenario } from "./support/scenario.mjs";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

await scenario(async (it) => {
  const page = await it.open("overview");
  const figure = (label) => page.locator(".tile", { hasText: label }).locator("strong").first();
  const live = () => page.getByText("Live", { exact: true }).waitFor();
  const changing = async () => {
    await live();
    const seen = new Set();
    await it.eventually(
      "figures change",
      async () => seen.add(await figure("Requests").innerText()).size > 2,
    );
    assert.ok(![...seen].every((text) => text === "0/s"), "there is no load");
  };
  await changing();

  // A stream that is refused says why.
  await page.route(/\/events/, (route) => route.fulfill({ status: 503, json: { error: "Too many viewers." } }));
  await it.show(page, "log");
  await page.getByText("Too many viewers look already; this page tries again.").waitFor();
  await page.unroute(/\/events/);
  await live();
  await it.show(page, "overview");

  for (const session of it.more) {
    console.log("ready");
    await lines.next();
    if (session === "over") {
      await page.getByRole("heading", { name: "Sign in" }).waitFor({ timeout: PATIENCE });
      await page.getByRole("alert").filter({ hasText: "The session is over" }).waitFor();
      await page.getByLabel("Token").fill(it.token);
      await page.keyboard.press("Enter");
    }
    await changing();
  }
  lines.return?.();
  process.stdin.destroy();
});
