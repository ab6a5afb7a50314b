// Each view in both colour schemes and on a narrow screen: it is there, fits, and can be used by everyone.
//
//   node views.mjs BASE TOKEN APPLICATION

import assert from "node:assert/strict";
import { expectAccessible } from "./support/accessibility.mjs";
import { scenario } from "./support/scenario.mjs";

const VIEWS = {
  overview: "Overview",
  applications: "Applications",
  listeners: "Listeners and routes",
  upstreams: "Upstreams",
  certificates: "Certificates",
  configuration: "Configuration",
  "configuration/history": "Configuration",
  log: "Log",
  slow: "Slow requests",
};

const SCREENS = [
  { scheme: "light", width: 1280, height: 860 },
  { scheme: "dark", width: 1280, height: 860 },
  { scheme: "light", width: 360, height: 740 },
  { scheme: "dark", width: 360, height: 740 },
];

await scenario(async (it) => {
  const [application] = it.more;
  const views = { ...VIEWS, [`applications/${encodeURIComponent(application)}`]: application };
  for (const screen of SCREENS) {
    const page = await it.open("overview", screen);
    for (const [view, title] of Object.entries(views)) {
      const where = `${view}, ${screen.scheme}, ${screen.width} pixels`;
      await it.show(page, view);
      await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= screen.width, `${where}: ${width} pixels are needed`);
      await page.waitForFunction((start) => document.title.startsWith(start), title);
      await expectAccessible(page, where);
    }
    await page.context().close();
  }
});
