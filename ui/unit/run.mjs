// Bundles the unit tests with what they ask, and runs them by Node.js itself.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const built = join(folder, "../build");
const tests = readdirSync(folder).filter((name) => name.endsWith(".test.mjs"));

rmSync(built, { recursive: true, force: true });
await build({
  entryPoints: tests.map((name) => join(folder, name)),
  outdir: built,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  logLevel: "warning",
});
const files = tests.map((name) => join(built, name));
// Each version of Node.js has another default for how tests are reported.
const done = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], { stdio: "inherit" });
process.exitCode = done.status ?? 1;
