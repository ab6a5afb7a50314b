// Takes the pictures of the manual.
//
//   node pictures.mjs BASE TOKEN APPLICATION FOLDER

import { join } from "node:path";
import { scenario } from "./support/scenario.mjs";

const SIZE = { width: 1180, height: 760 };

/** Curves need some time. */
const MINUTES = 2;

await scenario(async (it) => {
  const [application, folder] = it.more;
  const take = async (page, name) => {
    await page.getByText("Live", { exact: true }).waitFor();
    // Curves are drawn a moment after their figures.
    await page.waitForTimeout(2500);
    await page.screenshot({ path: join(folder, `dashboard-${name}.png`), animations: "disabled" });
  };
  const overview = await it.open("overview", SIZE);
  await overview.waitForTimeout(MINUTES * 60_000);
  await take(overview, "overview");

  const dark = await it.open(`applications/${encodeURIComponent(application)}`, { ...SIZE, scheme: "dark" });
  await dark.waitForTimeout((MINUTES / 2) * 60_000);
  await take(dark, "application");

  const page = await it.open("configuration", SIZE);
  const editor = page.getByLabel("Configuration as JSON");
  const text = await editor.inputValue();
  await editor.fill(text.replace('"idle_timeout"', '"idle_timeot"'));
  await page.getByText("Not valid", { exact: true }).waitFor();
  await page.getByRole("list", { name: "Problems" }).getByRole("button").first().click();
  await take(page, "configuration");
});
