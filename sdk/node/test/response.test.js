// Habits of Unit's applications in their responses.
'use strict'

const assert = require('node:assert')
const { once } = require('node:events')
const plain = require('node:http')
const { test } = require('node:test')

const http = require('..')

/** The answer of a handler: status, reason, fields and body. */
async function answer (handler) {
  const failed = []
  const server = http.createServer((request, response) => {
    try { handler(response) } catch (error) { failed.push(error); response.destroy() }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const request = plain.get({ port: server.address().port, host: '127.0.0.1', agent: false })
    const [response] = await once(request, 'response').catch(error => { throw failed[0] ?? error })
    const body = Buffer.concat(await response.toArray()).toString()
    return { status: response.statusCode, reason: response.statusMessage, fields: response.headers, raw: response.rawHeaders, body }
  } finally {
    server.close()
  }
}

test('what comes behind the first piece is lost, and not an exception', async () => {
  const warned = once(process, 'warning')
  const { status, fields, body } = await answer(response => {
    response.write('one ')
    assert.ok(response.headersSent)
    assert.equal(response.writeHead(404, { 'X-Late': '1' }), response)
    response.setHeader('X-Late', '2').appendHeader('X-Late', '3').removeHeader('X-None')
    response.end('two')
  })
  assert.deepEqual([status, fields['x-late'], body], [200, undefined, 'one two'])
  const [warning] = await warned
  assert.equal(warning.code, 'UNIT_HTTP_HEAD_SENT')
})

test('before it, the last word counts', async () => {
  const { status, reason, fields, body } = await answer(response => {
    response.writeHead(200, { 'X-First': '1', 'X-Second': '1' })
    assert.equal(response.headersSent, false)
    response.setHeader('X-Second', '2')
    response.writeHead('404')
    response.end('gone')
  })
  assert.deepEqual([status, reason, fields['x-first'], fields['x-second'], body], [404, 'Not Found', '1', '2', 'gone'])
  assert.equal(fields['content-length'], '4', 'the length is known by then')
})

test('fields may be a list, with names that repeat', async () => {
  for (const list of [['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Own', '1'], [['Set-Cookie', 'a=1'], ['Set-Cookie', 'b=2'], ['X-Own', '1']]]) {
    const { status, reason, fields } = await answer(response => response.writeHead(201, 'Made', list).end())
    assert.deepEqual([status, reason, fields['set-cookie'], fields['x-own']], [201, 'Made', ['a=1', 'b=2'], '1'])
  }
})

test('nothing is an empty piece, and what is undefined a word', async () => {
  const { fields, body } = await answer(response => {
    response.setHeader('X-Own', undefined)
    for (const nothing of [null, undefined, '']) response.write(nothing)
    response.end('text')
  })
  assert.deepEqual([fields['x-own'], body], ['undefined', 'text'])
})

test('what is wrong stays wrong', async () => {
  for (const status of [0, 99, 1000, 'text']) {
    await assert.rejects(answer(response => response.writeHead(status).end()), { code: 'ERR_HTTP_INVALID_STATUS_CODE' })
  }
  await assert.rejects(answer(response => response.writeHead(200, { 'X-Own': 'a\r\nb: c' }).end()), { code: 'ERR_INVALID_CHAR' })
  await assert.rejects(answer(response => response.write(1)), { code: 'ERR_INVALID_ARG_TYPE' })
})

test('middleware that puts its own writeHead in the place is asked before the head leaves', async () => {
  const seen = []
  const { status, fields } = await answer(response => {
    const { writeHead } = response
    response.writeHead = function (...args) {
      seen.push(args[0])
      response.setHeader('X-Middleware', '1')
      return writeHead.apply(response, args)
    }
    response.statusCode = 202
    response.end('text')
  })
  assert.deepEqual([status, fields['x-middleware'], seen], [202, '1', [202]])
})

test('without a body there is none', async () => {
  for (const status of [204, 304]) {
    const { fields, body } = await answer(response => response.writeHead(status).end())
    assert.deepEqual([fields['content-length'], fields['transfer-encoding'], body], [undefined, undefined, ''])
  }
  const streamed = await answer(response => { response.writeHead(200).flushHeaders(); response.end('late') })
  assert.deepEqual([streamed.fields['transfer-encoding'], streamed.body], ['chunked', 'late'])
})
