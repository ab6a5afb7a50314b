// Compresses as small as it can be. As a program, it compresses the files that it is given, beside them.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** A content in both codings. */
export function compressed(content) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return { brotli: brotliCompressSync(content, { params }), gzip: gzipSync(content, { level: 9 }) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const path of process.argv.slice(2)) {
    const { brotli, gzip } = compressed(readFileSync(path));
    writeFileSync(`${path}.br`, brotli);
    writeFileSync(`${path}.gz`, gzip);
  }
}
