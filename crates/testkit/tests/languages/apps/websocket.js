// A server's half of WebSocket (RFC 6455), by hand: Node.js has none. Sends each message back.
'use strict'
const crypto = require('crypto')

const CONTINUATION = 0
const CLOSE = 8
const PING = 9
const PONG = 10

const echo = (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const accept = crypto.createHash('sha1').update(key).digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
  let received = Buffer.alloc(0)
  let message = { kind: 0, pieces: [] }
  socket.on('data', piece => {
    received = Buffer.concat([received, piece])
    for (let frame = parse(received); frame; frame = parse(received)) {
      received = received.subarray(frame.end)
      message = take(frame, message, socket)
    }
  })
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
}

// The rest of a message when one more frame has come.
const take = (frame, message, socket) => {
  if (frame.kind === CLOSE) {
    socket.end(encode(CLOSE, frame.payload))
  } else if (frame.kind === PING) {
    socket.write(encode(PONG, frame.payload))
  } else if (frame.kind !== PONG) {
    const kind = frame.kind === CONTINUATION ? message.kind : frame.kind
    const pieces = [...message.pieces, frame.payload]
    if (!frame.isLast) return { kind, pieces }
    socket.write(encode(kind, Buffer.concat(pieces)))
    return { kind: 0, pieces: [] }
  }
  return message
}

const parse = bytes => {
  if (bytes.length < 2) return undefined
  let length = bytes[1] & 127
  let at = 2
  if (length === 126) {
    if (bytes.length < 4) return undefined
    length = bytes.readUInt16BE(2)
    at = 4
  } else if (length === 127) {
    if (bytes.length < 10) return undefined
    length = Number(bytes.readBigUInt64BE(2))
    at = 10
  }
  const end = at + 4 + length
  if (bytes.length < end) return undefined
  const mask = bytes.subarray(at, at + 4)
  const payload = Buffer.from(bytes.subarray(at + 4, end))
  for (let i = 0; i < payload.length; i++) payload[i] ^= mask[i % 4]
  return { kind: bytes[0] & 15, isLast: (bytes[0] & 128) !== 0, payload, end }
}

const encode = (kind, payload) => {
  const n = payload.length
  const head = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10)
  head[0] = 128 | kind
  head[1] = n < 126 ? n : n < 65536 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(n, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(n), 2)
  return Buffer.concat([head, payload])
}

module.exports = { echo }
