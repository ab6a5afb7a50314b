// For `node --loader unit-http/loader.mjs`: `import` of http and websocket gives this package's modules.

const own = file => new URL(file, import.meta.url).href

const REPLACED = new Map([
  ['http', { url: own('http.mjs'), format: 'module' }],
  ['node:http', { url: own('http.mjs'), format: 'module' }],
  ['websocket', { url: own('websocket.js'), format: 'commonjs' }]
])

/** Modules whose imports are those of the originals. */
const OWN = new Set(['http.js', 'server.js', 'response.js', 'websocket.js'].map(own))

export async function resolve (specifier, context, next) {
  const replaced = REPLACED.get(specifier)
  return replaced && !OWN.has(context.parentURL) ? { ...replaced, shortCircuit: true } : next(specifier, context)
}
