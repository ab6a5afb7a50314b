// For `node --require unit-http/loader`: `require('http')` and `require('websocket')` give this package's modules.
'use strict'

const { Module } = require('module')
// Before anything is changed: they need the originals.
const http = require('./http')
const websocket = require('./websocket')

const REPLACED = new Map([
  ['http', http],
  ['node:http', http],
  ['unit-http', http],
  ['websocket', websocket],
  ['unit-http/websocket', websocket]
])

const original = Module.prototype.require

if (!original.isUnitLoader) {
  Module.prototype.require = function require (id) {
    return REPLACED.get(id) ?? original.apply(this, arguments)
  }
  Module.prototype.require.isUnitLoader = true
}
