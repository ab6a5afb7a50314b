// Pages of other origins, open in the same browser, can neither show the dashboard nor act by its session.
//
//   node attacks.mjs BASE TOKEN APPLICATION

import assert from "node:assert/strict";
import { scenario } from "./support/scenario.mjs";

const ATTACKER = "http://www.attacker.test";

await scenario(async (it) => {
  const [application] = it.more;
  const name = encodeURIComponent(application);
  const victim = await it.open("overview");
  const context = victim.context();
  const processes = async () =>
    Object.keys((await it.api("GET", `/control/applications/${name}/workers`)).body);
  const configuration = async () => JSON.stringify((await it.api("GET", "/config")).body);
  const before = [await processes(), await configuration()];

  const attack = async (body) => {
    const page = await context.newPage();
    await page.route(`${ATTACKER}/**`, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(`${ATTACKER}/`);
    return page;
  };

  // In a frame, it is not shown.
  const framing = await attack(`<iframe src="${it.base}/dashboard/"></iframe>`);
  await framing.waitForLoadState("networkidle");
  const frames = framing.frames().filter((frame) => frame !== framing.mainFrame());
  const shown = await Promise.all(
    frames.map((frame) => frame.evaluate(() => document.getElementById("app") !== null).catch(() => false)),
  );
  assert.deepEqual(shown.filter(Boolean), []);

  // A link leads to it, and the session is there.
  const linking = await attack(`<a href="${it.base}/dashboard/">the dashboard</a>`);
  await linking.click("a");
  await linking.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  // Requests of a script and of forms, all that a browser sends without asking first.
  const calling = await attack("<p>nothing to see</p>");
  await calling.evaluate(
    async ([base, path]) => {
      const init = { mode: "no-cors", credentials: "include" };
      const calls = [
        [`${base}${path}/restart`, { ...init, method: "POST" }],
        [`${base}${path}/restart`, { ...init, method: "GET" }],
        [`${base}/config/routes`, { ...init, method: "POST", body: '{"action": {"return": 404}}' }],
      ];
      await Promise.all(calls.map(([url, options]) => fetch(url, options).catch(() => undefined)));
    },
    [it.base, `/control/applications/${name}`],
  );
  const readable = await calling.evaluate(
    (base) =>
      fetch(`${base}/config`, { credentials: "include" }).then(
        () => true,
        () => false,
      ),
    it.base,
  );
  assert.equal(readable, false);
  const form = `<form method="post" action="${it.base}/control/applications/${name}/restart"><button>Win</button></form>`;
  const sending = await attack(form);
  await sending.click("button");
  await sending.waitForLoadState("networkidle").catch(() => undefined);
  assert.deepEqual([await processes(), await configuration()], before);

  // A name that was made to lead here gets neither the session nor its own.
  const { port } = new URL(it.base);
  const rebound = await context.newPage();
  await rebound.goto(`${ATTACKER.replace("www", "rebound")}:${port}/dashboard/`);
  const statuses = await rebound.evaluate(() =>
    Promise.all(
      ["/config", "/status", "/events", "/dashboard/session"].map((path) =>
        fetch(path).then(({ status }) => status),
      ),
    ),
  );
  assert.ok(
    statuses.every((status) => status === 401 || status === 403),
    String(statuses),
  );

  // Nothing of that has ended the session.
  await victim.reload();
  await victim.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
});
