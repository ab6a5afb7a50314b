// Names, paths, comments and lines that hold markup are shown as text, wherever they come from.
//
//   node markup.mjs BASE TOKEN MARKUP     there is an application that is called MARKUP, and the log has lines with it

import assert from "node:assert/strict";
import { scenario } from "./support/scenario.mjs";

const VIEWS = [
  "overview",
  "applications",
  "listeners",
  "upstreams",
  "certificates",
  "configuration",
  "configuration/history",
  "log",
  "slow",
];

/** Elements that the page itself never makes. */
const FOREIGN = "#app :is(img, script, iframe, object, b, style, link, [onerror], [onload], [onclick])";

await scenario(async (it) => {
  const [markup] = it.more;
  // A comment and a line of the log that hold it.
  const comment = `/config/settings/http/idle_timeout?comment=${encodeURIComponent(markup)}`;
  assert.equal((await it.api("PUT", comment, 61)).status, 200);
  assert.equal(
    (await it.api("POST", `/control/applications/${encodeURIComponent(markup)}/restart`)).status,
    200,
  );
  const page = await it.open("overview");
  const expectText = async (view) => {
    await it.show(page, view);
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.locator(FOREIGN).count(), 0, view);
  };
  for (const view of VIEWS) {
    await expectText(view);
  }
  await it.show(page, "configuration/history");
  await page.locator(".comment").filter({ hasText: markup }).first().waitFor();
  await it.show(page, "applications");
  await page.getByRole("link", { name: markup, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: markup, exact: true }).waitFor();
  assert.equal(await page.locator(FOREIGN).count(), 0, "the application");
  await page.getByRole("button", { name: "Restart", exact: true }).click();
  await page.getByRole("dialog", { name: `Restart ${markup}?` }).waitFor();
  assert.equal(await page.locator(FOREIGN).count(), 0, "a question");
  await page.keyboard.press("Escape");
  await it.show(page, "log");
  await page.getByLabel("Level").selectOption("debug");
  await page.locator(".line-text").filter({ hasText: markup }).first().waitFor();
  assert.equal(await page.locator(FOREIGN).count(), 0, "the log");
  await page.getByLabel("Find in the log").fill(markup);
  await page.locator(".line-text").filter({ hasText: markup }).first().waitFor();
  // Links that lead out of the page would be an attack as well.
  const targets = await page.evaluate(() =>
    [...document.querySelectorAll("a")].map((link) => link.getAttribute("href")),
  );
  assert.deepEqual(
    targets.filter((target) => !target.startsWith("#")),
    [],
  );
});
