// Each action on applications, processes and certificates: asks first, does what it says, and tells the answer.
//
//   node actions.mjs BASE TOKEN APPLICATION CERTIFICATE SITE LISTENER
//
// SITE is an address that the application answers at; LISTENER is a free one, which passes to it without a route.

import assert from "node:assert/strict";
import { expectAccessible } from "./support/accessibility.mjs";
import { answer, ask } from "./support/dialog.mjs";
import { scenario } from "./support/scenario.mjs";

await scenario(async (it) => {
  const [application, certificate, site, listener] = it.more;
  const name = encodeURIComponent(application);
  const processes = async () => {
    const { status, body } = await it.api("GET", `/control/applications/${name}/workers`);
    assert.equal(status, 200);
    return Object.keys(body);
  };
  const newest = async () => (await it.api("GET", "/config/history")).body[0];
  const page = await it.open(`applications/${name}`);
  await page.getByRole("heading", { level: 1, name: application, exact: true }).waitFor();

  // A question that is not answered does nothing.
  const before = await processes();
  const question = await ask(page, "Restart", `Restart ${application}?`);
  await expectAccessible(page, "a question");
  await question.getByText("As a command").click();
  await question.getByText(`/control/applications/${name}/restart`).waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  assert.deepEqual(await processes(), before);

  await ask(page, "Restart", `Restart ${application}?`);
  assert.match(await answer(page, "Restart"), /^Done/);
  await it.eventually("new processes", async () => (await processes()).every((pid) => !before.includes(pid)));

  const [first] = await it.eventually("a process", async () => (await processes()).length > 0 && processes());
  await ask(page, `Drain process ${first}`, `Drain process ${first} of ${application}?`);
  assert.match(await answer(page, "Drain"), /^Done/);
  await it.eventually("the process ends", async () => !(await processes()).includes(first));

  const [second] = await it.eventually(
    "another process",
    async () => (await processes()).length > 0 && processes(),
  );
  await ask(page, `End process ${second}`, `End process ${second} of ${application}?`);
  assert.match(await answer(page, "End"), /^Done/);
  await it.eventually("the process ends", async () => !(await processes()).includes(second));

  const scaling = await ask(page, "Scale", `Scale ${application}`);
  await scaling.getByLabel("As many, always").check();
  await scaling.getByLabel("Processes").fill("0");
  assert.ok(await scaling.getByRole("button", { name: "Scale" }).isDisabled(), "none are too few");
  await scaling.getByLabel("Processes").fill("3");
  assert.match(await answer(page, "Scale"), /^Reconfiguration done/);
  assert.equal((await it.api("GET", `/config/applications/${name}/processes`)).body, 3);
  assert.equal((await newest()).comment, `scale ${application}`);

  const direct = `/config/listeners/${encodeURIComponent(listener)}`;
  await it.api("PUT", direct, { pass: `applications/${name}` });
  await page.getByText(`/listeners/${listener}`).waitFor();
  const statuses = () => Promise.all([site, `http://${listener}/`].map(async (at) => (await fetch(at)).status));
  assert.deepEqual(await statuses(), [200, 200]);
  await ask(page, "Maintenance", `Close ${application} for maintenance?`);
  assert.match(await answer(page, "Close"), /^Reconfiguration done/);
  await page.getByText("Closed for maintenance at").waitFor();
  assert.deepEqual(await statuses(), [503, 503]);
  await ask(page, "Open", `Open ${application}?`);
  assert.match(await answer(page, "Open"), /^Reconfiguration done/);
  await page.getByText("Closed for maintenance at").waitFor({ state: "detached" });
  assert.deepEqual(await statuses(), [200, 200]);
  assert.deepEqual((await it.api("GET", direct)).body, { pass: `applications/${name}` });

  await it.show(page, "listeners");
  await page.getByRole("table", { name: "Steps of routes" }).waitFor();

  await it.show(page, "certificates");
  await ask(page, `Renew ${certificate}`, `Renew the certificate of ${certificate}?`);
  assert.match(await answer(page, "Renew"), /^Done/);
});
