// Uses a page as readers do, in Chromium: no fault, nothing from the network, by keyboard, on a phone, on paper.
//
//   node trial.mjs PAGE

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { expectAccessible } from "../../../../ui/tests/support/accessibility.mjs";

const { chromium } = createRequire(new URL("../../../../ui/package.json", import.meta.url))("playwright-core");

const address = pathToFileURL(process.argv[2]).href;
const faults = [];

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(width, colorScheme) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("request", (request) => request.url() === address || faults.push(request.url()));
  await page.goto(address);
  return page;
}

const rates = (page) => page.locator("#throughput .readout b").allTextContents();

const page = await open(1280, "light");
await expectAccessible(page, "light");

// The plots show fewer servers, or all of them, by the keyboard alone.
const summary = page.locator(".chooser summary");
await summary.focus();
await page.keyboard.press("Enter");
const n_first = (await rates(page)).length;
await page.getByRole("button", { name: "All", exact: true }).focus();
await page.keyboard.press("Enter");
assert.ok((await rates(page)).length > n_first, "all servers are shown");
await page.locator(".chooser input").first().focus();
await page.keyboard.press("Space");
assert.match(await summary.textContent(), /4 of 5/);
await page.getByRole("button", { name: "None" }).click();
assert.equal((await rates(page)).length, 0);
await page.getByRole("button", { name: "The best of each family" }).click();
assert.equal((await rates(page)).length, n_first);

// The arrow keys move along a plot.
const plot = page.locator("#throughput .plot").first();
await plot.focus();
await page.keyboard.press("Home");
assert.match(await plot.getAttribute("aria-valuetext"), /^10 clients: /);
await page.keyboard.press("ArrowRight");
assert.match(await plot.getAttribute("aria-valuetext"), /^50 clients: /);

// Another workload is another plot.
const choice = page.locator("#latency select");
await choice.selectOption({ index: 1 });
assert.match(await page.locator("#latency .plot").getAttribute("aria-label"), /50 clients/);

// The table of all cells is filtered and sorted.
const filter = page.getByRole("searchbox");
await filter.fill("mysql  siege");
assert.match(await page.locator(".filter output").textContent(), /^0 of/);
await filter.fill("wrk");
const shown = page.locator("table.sorted tbody tr:visible");
const n_shown = await shown.count();
assert.ok(n_shown > 0 && n_shown < 30, `${n_shown} rows`);
await page.getByRole("button", { name: "p99, ms" }).click();
const times = await shown.locator("td:nth-child(9)").allTextContents();
const numbers = times.map((text) => Number(text.replaceAll(",", "")));
assert.deepEqual(numbers, [...numbers].sort((one, other) => other - one));

// On paper, everything but the configurations is unfolded.
await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
assert.equal(await page.locator("main section:not(#configurations) details:not([open])").count(), 0);
await page.evaluate(() => dispatchEvent(new Event("afterprint")));
assert.notEqual(await page.locator("main section:not(#configurations) details:not([open])").count(), 0);

const dark = await open(360, "dark");
await expectAccessible(dark, "dark, 360 px");
assert.equal(await dark.evaluate(() => document.documentElement.scrollWidth), 360);
assert.ok((await rates(dark)).length > 0, "plots are drawn on a phone");

await browser.close();
assert.deepEqual(faults, []);
