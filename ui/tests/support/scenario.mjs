// Runs a scenario in Chromium: opens pages, notes everything that must not happen there, and closes all at the end.
//
//   node SCENARIO.mjs BASE TOKEN [MORE]...     BASE is the address of the control API, TOKEN the control token

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** How long anything may take on a machine that is busy. */
export const PATIENCE = 60_000;

const [base, token, ...more] = process.argv.slice(2);

/** Whatever pages did that they must not do. */
const faults = [];

/** Notes violations of the policy, errors of scripts, and dialogs. A refusal is not a fault. */
async function watch(page) {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} by ${event.blockedURI}`);
    });
  });
  page.on("pageerror", (error) => faults.push(`script: ${error.stack}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    const isRefusal = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isRefusal) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) {
      faults.push(`another host was asked: ${request.url()}`);
    }
  });
}

/** The browser, and what a scenario does with it. */
class Scenario {
  base = base;
  token = token;
  more = more;

  constructor(browser) {
    this.browser = browser;
  }

  /** A page in a context of its own, which has no session yet. */
  async page({ scheme = "light", width = 1280, height = 860 } = {}) {
    const context = await this.browser.newContext({ colorScheme: scheme, viewport: { width, height } });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await watch(page);
    return page;
  }

  /** A page that is signed in and shows a view. */
  async open(view, options = {}) {
    const page = await this.page(options);
    await page.goto(`${base}/dashboard/#token=${options.token ?? token}`);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await this.show(page, view);
    return page;
  }

  /** Leads a page to another view. */
  async show(page, view) {
    await page.evaluate((fragment) => (location.hash = fragment), `#/${view}`);
    await page.waitForFunction((fragment) => location.hash === fragment, `#/${view}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
  }

  /** A call of the API without the page. */
  async api(method, path, body) {
    const response = await fetch(base + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Waits until the API has a value that is as it should be. */
  async eventually(what, attempt) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await attempt();
      if (found !== undefined && found !== false) {
        return found;
      }
      assert.ok(Date.now() < end, `not in time: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Runs a scenario to its end. */
export async function scenario(run) {
  assert.ok(base && token, "usage: node SCENARIO.mjs BASE TOKEN");
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Containers have no sandbox, and little shared memory.
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      `--host-resolver-rules=MAP *.attacker.test ${new URL(base).hostname}`,
    ],
  });
  try {
    await run(new Scenario(browser));
    assert.deepEqual(faults, []);
  } catch (error) {
    await picture(browser);
    console.error(error);
    console.error(faults.join("\n"));
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/** Keeps what was in sight when a scenario failed, where a variable says. */
async function picture(browser) {
  const path = process.env.FAILURE_SCREENSHOT;
  const page = browser
    .contexts()
    .flatMap((context) => context.pages())
    .at(-1);
  if (path !== undefined && page !== undefined) {
    await page.screenshot({ path });
  }
}
