// The configuration is edited: mistakes are shown, changes are compared, put in force, and undone.
//
//   node configuration.mjs BASE TOKEN     the configuration has settings.http.idle_timeout

import assert from "node:assert/strict";
import { expectAccessible } from "./support/accessibility.mjs";
import { answer, ask } from "./support/dialog.mjs";
import { scenario } from "./support/scenario.mjs";

const PATH = "/config/settings/http/idle_timeout";

await scenario(async (it) => {
  const timeout = async () => (await it.api("GET", PATH)).body;
  const first = await timeout();
  const page = await it.open("configuration");
  const editor = page.getByLabel("Configuration as JSON");
  const apply = page.getByRole("button", { name: "Put in force", exact: true });
  const text = await editor.inputValue();
  const edited = (value) => text.replace(/"idle_timeout": \d+/, `"idle_timeout": ${value}`);
  const verdict = (word) => page.getByText(word, { exact: true }).waitFor();
  assert.notEqual(edited(first + 1), text);
  assert.equal(await apply.getAttribute("aria-disabled"), "true");

  // A text that is not JSON, and one that is not a configuration.
  await editor.fill(text.replace("{", "{,"));
  await verdict("Not valid");
  assert.equal(await page.getByRole("list", { name: "Problems" }).getByRole("listitem").count(), 1);
  await editor.fill(text.replace('"idle_timeout"', '"idle_timeot"'));
  await page.getByRole("list", { name: "Problems" }).getByText("idle_timeot").first().waitFor();
  await page.getByText('Did you mean "idle_timeout"?').waitFor();
  await expectAccessible(page, "a mistake");
  await page.getByRole("list", { name: "Problems" }).getByRole("button").first().click();
  const line = await editor.evaluate((area) => area.value.slice(area.selectionStart).split("\n")[0]);
  assert.match(line, /idle_timeot/);
  // Only lines that can be seen are drawn.
  await page.locator(".gutter .marked").waitFor();
  assert.equal(await apply.getAttribute("aria-disabled"), "true");
  assert.equal(await timeout(), first);

  // The meaning of an option stands beside it.
  await editor.evaluate((area) =>
    area.setSelectionRange(area.value.indexOf("idle_timeot"), area.value.indexOf("idle_timeot")),
  );
  await editor.press("ArrowRight");
  await page.locator(".meaning").getByText("/settings/http/idle_timeot").waitFor();

  // A change with a comment.
  await editor.fill(edited(first + 1));
  await verdict("Valid");
  await page.getByRole("tab", { name: "Differences" }).click();
  await page.locator(".diff-line.removed", { hasText: String(first) }).waitFor();
  await page.locator(".diff-line.added", { hasText: String(first + 1) }).waitFor();
  assert.equal(await page.locator(".diff-line:not(.same)").count(), 2);
  const question = await ask(page, "Put in force", "Put this configuration in force?");
  await question.getByLabel("Comment for the history").fill("ü".repeat(101));
  assert.ok(
    await question.getByRole("button", { name: "Put in force" }).isDisabled(),
    "a comment that is too long",
  );
  await question.getByLabel("Comment for the history").fill("patience <b>with</b> clients");
  await expectAccessible(page, "a question with differences");
  assert.match(await answer(page, "Put in force"), /^Reconfiguration done/);
  assert.equal(await timeout(), first + 1);

  // The history has it, and leads back.
  await page.getByRole("tab", { name: "History" }).click();
  const newest = page.getByRole("listitem").filter({ hasText: "patience <b>with</b> clients" });
  await newest.getByText("in force", { exact: true }).waitFor();
  const { body: history } = await it.api("GET", "/config/history");
  assert.equal(history[0].comment, "patience <b>with</b> clients");
  const older = history[1].id;
  await page.getByRole("button", { name: `Compare change ${older} with what is in force` }).click();
  await page.locator(".diff-line.added", { hasText: String(first) }).waitFor();

  // A second press, while the change is being read, asks nothing.
  const reads = [];
  await page.route(/\/config\/history\/\d+$/, (route) => void reads.push(route));
  const back = page.getByRole("button", { name: `Go back to change ${older}` });
  await back.click();
  await page.locator('button[aria-disabled="true"]', { hasText: "Go back" }).waitFor();
  await back.click({ force: true });
  await it.eventually("the change is read", async () => reads.length > 0);
  await Promise.all(reads.map((route) => route.continue()));
  await page.unroute(/\/config\/history\/\d+$/);
  await page.getByRole("dialog", { name: `Go back to change ${older}?` }).waitFor();
  assert.equal(reads.length, 1);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await ask(page, `Go back to change ${older}`, `Go back to change ${older}?`);
  assert.match(await answer(page, "Go back"), /^Reconfiguration done/);
  assert.equal(await timeout(), first);

  // A change by another client in between is noticed, and not taken back.
  await page.getByRole("tab", { name: "Edit" }).click();
  await editor.fill(edited(first + 2));
  await verdict("Valid");
  assert.equal((await it.api("PUT", PATH, first + 3)).status, 200);
  await page.getByText("The configuration was changed since you began").waitFor();
  await ask(page, "Put in force", "Put this configuration in force?");
  assert.match(await answer(page, "Put in force"), /^Precondition failed/);
  assert.equal(await timeout(), first + 3);
  await page.getByRole("button", { name: "I have looked at them" }).click();
  await ask(page, "Put in force", "Put this configuration in force?");
  assert.match(await answer(page, "Put in force"), /^Reconfiguration done/);
  assert.equal(await timeout(), first + 2);

  // Edits that are made while a change is on its way stay, and go on from there.
  const hold = async (value) => {
    let release;
    const held = new Promise((done) => (release = done));
    await page.route(/\/config$/, async (route) => {
      await (route.request().method() === "PUT" && held);
      await route.continue();
    });
    await editor.fill(edited(value));
    await verdict("Valid");
    const slow = await ask(page, "Put in force", "Put this configuration in force?");
    await slow.getByRole("button", { name: "Put in force", exact: true }).click();
    await slow.getByRole("button", { name: "Do not wait", exact: true }).click();
    return async () => {
      release();
      const notice = page.locator(".notice.good").filter({ hasText: "Reconfiguration done" });
      await notice.getByRole("button", { name: "Dismiss" }).click();
      await page.unroute(/\/config$/);
    };
  };
  const discard = async () => {
    const discarding = await ask(page, "Discard", "Discard this text?");
    await discarding.getByRole("button", { name: "Discard", exact: true }).click();
    await discarding.waitFor({ state: "detached" });
  };
  const release = await hold(first + 4);
  await editor.fill(edited(first + 5));
  await release();
  assert.equal(await editor.inputValue(), edited(first + 5));
  await verdict("Valid");
  await ask(page, "Put in force", "Put this configuration in force?");
  assert.match(await answer(page, "Put in force"), /^Reconfiguration done/);
  assert.equal(await timeout(), first + 5);

  // A text that is begun anew meanwhile does not take the change back without a word.
  const releaseDiscarded = await hold(first + 6);
  await discard();
  await editor.fill(edited(first + 7));
  await releaseDiscarded();
  await page.getByText("The configuration was changed since you began").waitFor();
  assert.equal(await editor.inputValue(), edited(first + 7));
  assert.equal(await timeout(), first + 6);
  await discard();

  // An edit that is undone meanwhile stays undone.
  const releaseUndone = await hold(first + 5);
  await editor.fill(edited(first + 6));
  await releaseUndone();
  assert.equal(await editor.inputValue(), edited(first + 6));
  await verdict("Valid");
  assert.equal(await timeout(), first + 5);
  await discard();

  // A text outlives a session that ends by itself.
  await editor.fill(edited(first + 8));
  await page.context().clearCookies();
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("alert").filter({ hasText: "The session is over" }).waitFor();
  assert.ok(!(await page.content()).includes("idle_timeout"), "the form shows none of it");
  await page.getByLabel("Token").fill(it.token);
  await page.keyboard.press("Enter");
  await page.getByText("May change things").waitFor();
  await it.show(page, "configuration");
  await editor.waitFor();
  assert.equal(await editor.inputValue(), edited(first + 8));

  // A sign-out asks before it throws a text away.
  await page.getByRole("button", { name: "Sign out" }).click();
  const leaving = page.getByRole("dialog", { name: "Sign out and discard your text?" });
  await expectAccessible(page, "a sign-out with a text");
  await leaving.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await editor.inputValue(), edited(first + 8));
  await discard();

  // A link for another session, opened in the same tab, leaves nothing of this one.
  await editor.fill(edited(first + 6));
  const { body: link } = await it.api("POST", "/dashboard/tokens?access=read");
  await page.evaluate((fragment) => (location.hash = fragment), `#token=${link.token}`);
  await page.getByText("Reading only").waitFor();
  assert.ok(!page.url().includes(link.token), page.url());
  await it.show(page, "configuration");
  assert.match(await editor.inputValue(), new RegExp(`"idle_timeout": ${first + 5}\\b`));

  // A sign-out that the daemon does not hear of is none.
  const isEnd = (route) => route.request().method() === "DELETE";
  await page.route(/\/dashboard\/session$/, (route) => (isEnd(route) ? route.abort() : route.continue()));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alert").filter({ hasText: "You are still signed in." }).waitFor();
  await page.unroute(/\/dashboard\/session$/);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});
