// Bundles the page into dist/: files with hashes in their names, compressed, and a list of them for the crate that
// embeds them.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { compressed } from "./compress.mjs";

const folder = dirname(fileURLToPath(import.meta.url));
const dist = join(folder, "dist");

/** Libraries within the bundle, whose licences want to be told with it. */
const LIBRARIES = ["preact", "uplot"];

const MEDIA_TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** The files of the page by name, with the name of the page itself empty. */
async function contents() {
  const { script, style } = await bundle();
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const assets = {
    script: asset("app.js", script),
    style: asset("app.css", style),
    icon: asset("icon.svg", readFileSync(join(folder, "src/icon.svg"))),
    licences: asset("licences.txt", licences()),
  };
  const filled = Object.entries(assets).reduce(
    (text, [mark, { name }]) => text.replace(`{${mark}}`, name),
    page,
  );
  return [{ name: "", content: Buffer.from(filled) }, ...Object.values(assets)];
}

async function bundle() {
  const done = await build({
    absWorkingDir: folder,
    entryPoints: { app: "src/main.tsx", style: "src/style/main.css" },
    outdir: dist,
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["chrome120", "firefox128", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
  });
  const output = (extension) => done.outputFiles.find(({ path }) => extname(path) === extension).contents;
  return { script: output(".js"), style: output(".css") };
}

/** A file whose name says what is in it. */
function asset(name, content) {
  const bytes = Buffer.from(content);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const extension = extname(name);
  return { name: `assets/${name.slice(0, -extension.length)}.${hash}${extension}`, content: bytes };
}

function licences() {
  const texts = LIBRARIES.map((name) => {
    const { version } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
    const text = readFileSync(join(folder, "node_modules", name, "LICENSE"), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return `The dashboard is made with these libraries.\n\n${texts.join("\n\n")}`;
}

/** Lines of the list: name, media type, entity tag, and whether the content never changes. */
function describe({ name, content }) {
  const tag = createHash("sha256").update(content).digest("hex").slice(0, 24);
  const type = MEDIA_TYPES[name === "" ? ".html" : extname(name)];
  return [name, type, tag, name === "" ? "revalidated" : "immutable"].join("\t");
}

/** Writes all of them, the list last; the size that a browser fetches. */
function write(files) {
  mkdirSync(dist, { recursive: true });
  for (const entry of readdirSync(dist).filter((entry) => !entry.startsWith("."))) {
    rmSync(join(dist, entry), { recursive: true });
  }
  mkdirSync(join(dist, "assets"));
  let size = 0;
  for (const { name, content } of files) {
    const path = join(dist, name === "" ? "index.html" : name);
    const { brotli, gzip } = compressed(content);
    size += brotli.length;
    writeFileSync(path, content);
    writeFileSync(`${path}.br`, brotli);
    writeFileSync(`${path}.gz`, gzip);
  }
  writeFileSync(join(dist, "files.txt"), `${files.map(describe).join("\n")}\n`);
  return size;
}

const files = await contents();
console.log(`the dashboard's page: ${files.length} files, ${Math.ceil(write(files) / 1024)} KiB`);
