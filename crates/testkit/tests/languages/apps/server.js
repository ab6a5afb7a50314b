// The suite's application in Node.js, on a socket that is handed over, by the module that the argument names:
// README.md says what is at which path.
'use strict'
const crypto = require('crypto')
const fs = require('fs')
const http = require(process.argv[2] ?? 'http')
const { echo } = require('./websocket.js')

const BLOCK = Buffer.concat(Array(100).fill(Buffer.from([...Array(251).keys()])))

let nKept = 0

// Path and query.
const cut = target => {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

// The client as Corral names it, unless the module has taken the header.
const clientOf = ({ headers, socket }) => {
  const said = /^for=(?:_unix|"(?:\[(.+?)\]|([\d.]+))(?::(\d+))?");.*proto=(\w+)$/.exec(headers['corral-client'])
  if (!said) return { scheme: socket.encrypted ? 'https' : 'http', client: socket.remoteAddress, port: socket.remotePort }
  return { scheme: said[4], client: said[1] ?? said[2] ?? 'unix:', port: Number(said[3] ?? 0) }
}

const waitFor = (condition, then) => condition() ? then() : setTimeout(waitFor, 5, condition, then)

const bodyOf = (request, then) => {
  const pieces = []
  request.on('data', piece => pieces.push(piece))
  request.on('end', () => then(Buffer.concat(pieces)))
}

// Writes what `next` returns until it returns nothing; no faster than it is read.
const writeAll = (response, next) => {
  for (let piece = next(); !response.destroyed; piece = next()) {
    if (piece === undefined) return response.end()
    if (!response.write(piece)) return response.once('drain', () => writeAll(response, next))
  }
}

const pages = {
  '/request': (request, response) => response.end(JSON.stringify({
    method: request.method,
    target: request.url,
    path: null,
    query: cut(request.url)[1],
    ...clientOf(request),
    headers: request.headers
  })),
  '/echo': (request, response) => bodyOf(request, body => response.end(body)),
  '/length': (request, response) => bodyOf(request, body => response.end(`${body.length}`)),
  '/ignored': (request, response) => response.end('ignored'),
  '/large': (request, response, n) => {
    let left = Number(n)
    writeAll(response, () => left-- > 0 ? BLOCK : undefined)
  },
  '/status': (request, response, n) => response.writeHead(Number(n)).end(`status ${n}`),
  '/fields': (request, response) => {
    response.writeHead(200, { 'X-Twice': ['1', '2'], 'Set-Cookie': ['a=1', 'b=2'], 'X-Empty': '' }).end('fields')
  },
  '/many': (request, response, n) => {
    for (let i = 1; i <= n; i++) response.setHeader(`X-Field-${i}`, `value ${i}`)
    response.end('many')
  },
  '/stream': (request, response) => {
    response.write('first')
    waitFor(() => fs.existsSync('go'), () => response.end('second'))
  },
  '/hints': (request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' })
    waitFor(() => fs.existsSync('go'), () => response.end('hints'))
  },
  '/fail': () => { throw new Error('failed on purpose') },
  '/fail-late': (request, response) => {
    response.write('begun', () => { throw new Error('failed too late') })
  },
  '/die': () => process.kill(process.pid, 'SIGKILL'),
  '/endless': (request, response) => {
    response.on('close', () => console.error('the client is gone'))
    writeAll(response, () => Buffer.alloc(65536, 'x'))
  },
  '/meet': (request, response, n) => {
    fs.writeFileSync(`meet/${crypto.randomUUID()}`, '')
    waitFor(() => fs.readdirSync('meet').length >= n, () => response.end(`${process.pid}`))
  },
  '/slow': (request, response, ms) => setTimeout(() => response.end(`${process.pid}`), ms),
  '/compute': (request, response) => {
    while (!fs.existsSync('go'));
    response.end(`${process.pid}`)
  },
  '/kept': (request, response) => response.end(`${++nKept}`),
  '/pid': (request, response) => response.end(`${process.pid}`),
  '/cwd': (request, response) => response.end(process.cwd()),
  '/environment': (request, response, name) => response.end(process.env[name] ?? ''),
  '/user': (request, response) => response.end(`${process.geteuid()} ${process.getegid()}`),
  '/log': (request, response) => {
    console.log('said to standard output')
    console.error('said to standard error')
    response.end()
  }
}

const server = http.createServer((request, response) => {
  const [path, argument] = cut(request.url)
  const page = pages[path]
  if (page) return page(request, response, argument)
  response.writeHead(404).end('missing')
})

server.on('upgrade', (request, socket) => echo(request, socket))
process.on('SIGTERM', () => server.close())
server.listen({ fd: 3 })
