// The contest's application in Node.js, wherever it is told to serve.
'use strict'
const http = require('http')

const JSON_TEXT = `{"text":"${'x'.repeat(16384 - 11)}"}`

const answer = (response, body, kind = 'text/plain') => {
  response.writeHead(200, { 'Content-Type': kind, 'Content-Length': body.length })
  response.end(body)
}

const server = http.createServer((request, response) => {
  if (request.url === '/hello') return answer(response, 'Hello, World!')
  if (request.url === '/json') return answer(response, JSON_TEXT, 'application/json')
  let n = 0
  request.on('data', piece => { n += piece.length })
  request.on('end', () => answer(response, `${n}`))
})
// Kept connections are the client's to close.
server.keepAliveTimeout = 0
const { LISTEN_FDS, SOCKET_PATH, PORT } = process.env
if (LISTEN_FDS) server.listen({ fd: 3 })
else if (SOCKET_PATH) server.listen(SOCKET_PATH)
else server.listen(Number(PORT), '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
