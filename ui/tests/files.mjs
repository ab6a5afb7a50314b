// A configuration that comes from files is shown and tried, and the page says where it is to be changed.
//
//   node files.mjs BASE TOKEN FILE APPLICATION

import assert from "node:assert/strict";
import { ask } from "./support/dialog.mjs";
import { scenario } from "./support/scenario.mjs";

await scenario(async (it) => {
  const [file, application] = it.more;
  const page = await it.open("configuration");
  await page.locator(".remark").getByText(file).waitFor();
  const editor = page.getByLabel("Configuration as JSON");
  await editor.fill((await editor.inputValue()).replace(/^\{/, '{ "setings": {},'));
  await page.getByText("Not valid", { exact: true }).waitFor();
  const apply = page.getByRole("button", { name: "Put in force", exact: true });
  assert.equal(await apply.getAttribute("aria-disabled"), "true");
  await apply.focus();
  await page.getByRole("tooltip").filter({ hasText: file }).first().waitFor();
  const discarding = await ask(page, "Discard", "Discard this text?");
  await discarding.getByRole("button", { name: "Discard", exact: true }).click();
  await page.getByRole("main").getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });

  // Processes do not belong to the files.
  await it.show(page, `applications/${encodeURIComponent(application)}`);
  assert.equal(
    await page.getByRole("button", { name: "Scale", exact: true }).getAttribute("aria-disabled"),
    "true",
  );
  assert.equal(
    await page.getByRole("button", { name: "Restart", exact: true }).getAttribute("aria-disabled"),
    "false",
  );
});
