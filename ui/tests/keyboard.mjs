// Everything can be reached by the keyboard alone, and the focus is always in sight.
//
//   node keyboard.mjs BASE TOKEN APPLICATION

import assert from "node:assert/strict";
import { scenario } from "./support/scenario.mjs";

/** The element that has the focus, in words. */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return {
      text: (element.textContent || element.getAttribute("aria-label") || element.tagName).trim(),
      role: element.getAttribute("role") ?? element.tagName.toLowerCase(),
      isOutlined: (outlineStyle !== "none" && outlineWidth !== "0px") || element === document.body,
      isInDialog: element.closest("dialog") !== null || element === document.body,
    };
  });

/** Goes on until something has the focus; all on the way has to show it. */
async function tabTo(page, text, key = "Tab") {
  for (let steps = 0; steps < 300; steps += 1) {
    await page.keyboard.press(key);
    const found = await focused(page);
    assert.ok(found.isOutlined, `the focus cannot be seen: ${found.role} ${found.text}`);
    if (found.text === text || found.text.startsWith(`${text}\n`)) {
      return found;
    }
  }
  assert.fail(`the focus does not get to ${text}`);
}

await scenario(async (it) => {
  const [application] = it.more;
  const page = await it.open("overview");
  await page.getByText("Live", { exact: true }).waitFor();

  await tabTo(page, "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal((await focused(page)).role, "h1");

  // A term explains itself when it has the focus, until Escape.
  await tabTo(page, "Requests");
  await page.getByRole("tooltip").filter({ hasText: "Requests that are over" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("tooltip").filter({ hasText: "Requests that are over" }).waitFor({ state: "hidden" });

  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  await tabTo(page, "Applications");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  assert.equal((await focused(page)).role, "h1");

  // Rows are a list that arrows lead through.
  await tabTo(page, application);
  await page.keyboard.press("ArrowUp");
  assert.notEqual((await focused(page)).text, application, "it is the first row");
  await page.keyboard.press("ArrowDown");
  assert.equal((await focused(page)).text, application);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: application, exact: true }).waitFor();

  // A dialog keeps the focus, and gives it back.
  await tabTo(page, "Restart");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  assert.equal((await focused(page)).text, "Cancel");
  for (let steps = 0; steps < 8; steps += 1) {
    await page.keyboard.press("Tab");
    assert.ok((await focused(page)).isInDialog, "the focus left the dialog");
  }
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await focused(page)).text, "Restart");
  await page.keyboard.press("Enter");
  await tabTo(page, "Restart");
  assert.ok((await focused(page)).isInDialog);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await tabTo(page, "Close");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  // Tabs are led through by arrows.
  await it.show(page, "configuration");
  await tabTo(page, "Edit");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "History");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Edit");
  // The editor does not keep the focus.
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).role, "textarea");
  await page.keyboard.press("Tab");
  assert.notEqual((await focused(page)).role, "textarea");
});
