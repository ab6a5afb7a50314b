// The members of the modules, and the modules that the loaders replace.
'use strict'

const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const http = require('node:http')
const path = require('node:path')
const { test } = require('node:test')

const unit = require('..')

const folder = path.dirname(__dirname)

test('everything of http is there', () => {
  const missing = Object.getOwnPropertyNames(http).filter(name => !(name in unit))
  assert.deepEqual(missing, [])
  assert.ok(unit.ServerResponse.prototype instanceof http.ServerResponse)
  assert.ok(unit.createServer() instanceof http.Server && unit.Server() instanceof unit.Server)
})

test('websocket has what the package of Unit had', () => {
  assert.deepEqual(['server', 'router', 'frame', 'request', 'connection'].filter(name => !require('../websocket')[name]), [])
})

test('what it needs goes with it', () => {
  const { dependencies, bundleDependencies } = require('../package.json')
  assert.deepEqual(bundleDependencies, Object.keys(dependencies))
})

function run (flags, type, script) {
  const done = spawnSync(process.execPath, [...flags, `--input-type=${type}`, '--eval', script], { cwd: folder, encoding: 'utf8' })
  assert.equal(done.status, 0, done.stderr)
}

test('the loader of CommonJS', () => {
  run(['--require', './loader'], 'commonjs', `
    const assert = require('assert')
    const unit = require('./http')
    for (const name of ['http', 'node:http', 'unit-http']) assert.equal(require(name), unit)
    for (const name of ['websocket', 'unit-http/websocket']) assert.equal(require(name), require('./websocket'))
    assert.equal(require('fs'), require('node:fs'))`)
})

for (const flags of [['--no-warnings', '--loader', './loader.mjs'], ['--import', './register.mjs']]) {
  test(`the loader of modules: ${flags.at(-1)}`, () => {
    run(flags, 'module', `
      import assert from 'assert'
      import http, { createServer, request } from 'http'
      import * as same from 'node:http'
      import websocket from 'websocket'
      import unit from './http.js'
      assert.ok(http === unit && createServer === unit.createServer && same.default === unit)
      assert.ok(typeof request === 'function' && websocket.server)`)
  })
}
