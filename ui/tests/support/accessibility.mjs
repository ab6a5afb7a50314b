// Findings of axe-core in a page.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const SEVERE = ["serious", "critical"];

/** Fails if there is anything serious. */
export async function expectAccessible(page, where) {
  // By the debugger's way in, which the page's policy does not concern.
  await page.evaluate(SOURCE);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  assert.ok(passes.length > 15, `${where}: only ${passes.length} rules applied`);
  const found = violations
    .filter(({ impact }) => SEVERE.includes(impact))
    .map(
      ({ id, help, nodes }) =>
        `${where}: ${id}: ${help}\n  ${nodes.map(({ html, failureSummary }) => `${html}\n  ${failureSummary}`).join("\n  ")}`,
    );
  assert.deepEqual(found, []);
}
