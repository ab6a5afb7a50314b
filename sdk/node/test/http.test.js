// The server of an application, with a socket that is handed over and without one.
'use strict'

const assert = require('node:assert')
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const http = require('node:http')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { after, test } = require('node:test')

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'unit-http-'))
after(() => fs.rmSync(folder, { recursive: true }))

// The application finds the package by its name.
fs.mkdirSync(path.join(folder, 'node_modules'))
fs.symlinkSync(path.dirname(__dirname), path.join(folder, 'node_modules', 'unit-http'))
fs.copyFileSync(path.join(__dirname, '..', 'fixtures', 'application.js'), path.join(folder, 'application.js'))

/** Runs the application; `listener` becomes its descriptor 3 alone, as the shell's number becomes its own. */
async function run (listener, env = {}) {
  const handedOver = listener ? 'LISTEN_FDS=1 LISTEN_FDNAMES=http LISTEN_PID=$$' : ''
  const stdio = ['ignore', 'pipe', 'pipe', ...(listener ? [listener._handle.fd] : [])]
  const child = spawn('sh', ['-c', `${handedOver} exec "$0" application.js`, process.execPath], { stdio, cwd: folder, env: { ...process.env, ...env } })
  listener?.close()
  const [said, warned] = [[], []]
  child.stderr.on('data', piece => warned.push(String(piece)))
  child.stdout.on('data', piece => said.push(String(piece)))
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => assert.fail(warned.join('')))])
  return { child, address: JSON.parse(said[0]), said, warned }
}

/** A listener to hand over. One that is closed takes the name along that it was given, hence another one for the clients. */
async function listen (name) {
  const listener = net.createServer()
  const given = path.join(folder, `${name}.given`)
  listener.listen(given)
  await once(listener, 'listening')
  fs.renameSync(given, path.join(folder, name))
  return listener
}

function get (where, target, headers = {}) {
  return new Promise((resolve, reject) => {
    http.get({ ...where, path: target, headers }, async response => {
      const pieces = await response.toArray()
      resolve(JSON.parse(Buffer.concat(pieces)))
    }).on('error', reject)
  })
}

test('it serves on descriptor 3, and knows the client', async () => {
  const listener = await listen('one')
  const { child, address, said } = await run(listener)
  const socketPath = path.join(folder, 'one')
  assert.deepEqual(address, { family: 'IPv4', address: '127.0.0.1', port: 80 })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (client, target = '/') => get({ socketPath, agent }, target, { 'Corral-Client': client, 'X-Own': '1' })
  const first = await ask('for="192.0.2.1:49152";by="192.0.2.9:443";proto=https')
  assert.deepEqual(first.who, ['192.0.2.1', 49152, '192.0.2.9', 443, true])
  assert.equal(first.response, '192.0.2.1')
  assert.deepEqual([first.headers['x-own'], first.headers['corral-client']], ['1', undefined])
  assert.deepEqual([first.distinct['x-own'], first.distinct['corral-client']], [['1'], undefined])
  assert.ok(!first.raw.includes('Corral-Client') && first.raw.includes('X-Own'), first.raw)
  const second = await ask('for="[2001:db8::1]";by=_unix;proto=http')
  assert.deepEqual(second.who, ['2001:db8::1', 0, 'unix:', 0, false])
  const third = await ask('for="[2001:db8::1]:65535";by="[2001:db8::2]:80";proto=http')
  assert.deepEqual(third.who, ['2001:db8::1', 65535, '2001:db8::2', 80, false])
  assert.deepEqual(await ask('for=_unix;by=_unix;proto=http', '/late'), ['192.0.2.1', '2001:db8::1', '2001:db8::1'], 'on the same connection')
  agent.destroy()
  child.kill()
  const [code] = await once(child, 'exit')
  assert.deepEqual([code, said.at(-1)], [0, 'closed\n'], 'it has closed its server')
})

test('a request to upgrade is introduced before anybody has looked at its fields', async () => {
  const listener = await listen('upgrade')
  const { child } = await run(listener, { TEST_UPGRADE: '1' })
  const headers = { Connection: 'Upgrade', Upgrade: 'own', 'Corral-Client': 'for="192.0.2.1";by=_unix;proto=http' }
  const request = http.get({ socketPath: path.join(folder, 'upgrade'), headers })
  const [response, socket] = await once(request, 'upgrade')
  assert.deepEqual([response.headers['x-address'], response.headers['x-fields']], ['192.0.2.1', 'connection,upgrade,host'])
  socket.destroy()
  child.kill()
  await once(child, 'exit')
})

test('elsewhere it is the http module', async () => {
  const { child, address } = await run(null)
  assert.ok(address.port > 1024, address)
  const answer = await get({ port: address.port }, '/', { 'Corral-Client': 'for="192.0.2.1";by=_unix;proto=https' })
  assert.equal(answer.who[0], '127.0.0.1')
  assert.ok(answer.headers['corral-client'], 'nobody is believed')
  child.kill()
  await once(child, 'exit')
})

test('a socket that is meant for another process is left alone', async () => {
  const handedOver = { LISTEN_FDS: '1', LISTEN_FDNAMES: 'http', LISTEN_PID: '1' }
  const { child, address } = await run(null, handedOver)
  assert.ok(address.port > 1024, address)
  child.kill()
  await once(child, 'exit')
})

test('options that have no effect behind Corral are named once', async () => {
  const TEST_OPTIONS = JSON.stringify({ keepAliveTimeout: 1000, uniqueHeaders: ['X-Own'], maxHeaderSize: 20000, key: 'text' })
  const { child, address, warned } = await run(await listen('options'), { TEST_OPTIONS })
  child.kill()
  await once(child, 'close')
  assert.match(warned.join(''), /unit-http: options of the server that have no effect.*: keepAliveTimeout, maxHeaderSize, key\n/)
  assert.equal(address.requestTimeout, 0, 'Corral says how long clients may take')
})

test('options are heard elsewhere, and those that have an effect everywhere', async () => {
  const elsewhere = await run(null, { TEST_OPTIONS: JSON.stringify({ keepAliveTimeout: 1000 }) })
  const here = await run(await listen('effect'), { TEST_OPTIONS: JSON.stringify({ requestTimeout: 70000 }) })
  for (const { child, warned } of [elsewhere, here]) {
    child.kill()
    await once(child, 'close')
    assert.equal(warned.join(''), '')
  }
  assert.deepEqual([elsewhere.address.requestTimeout, here.address.requestTimeout], [300000, 70000])
})
