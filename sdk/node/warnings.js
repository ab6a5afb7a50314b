// Warnings that are given once in a process; Corral has them in its log.
'use strict'

const said = new Set()

function warnOnce (code, text) {
  if (said.has(code)) return
  said.add(code)
  process.emitWarning(`unit-http: ${text}`, { code })
}

module.exports = { warnOnce }
