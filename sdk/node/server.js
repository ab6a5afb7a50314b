// An HTTP server that serves where Corral lets it, and whose requests know their client.
'use strict'

const http = require('http')
const { takeClient } = require('./client')
const { ServerResponse } = require('./response')
const { DESCRIPTOR, isHandedOver } = require('./socket')
const { warnOnce } = require('./warnings')

/** Where applications of Unit believe to be. */
const ADDRESS = { family: 'IPv4', address: '127.0.0.1', port: 80 }

const EVENTS = new Set(['request', 'upgrade', 'connect', 'checkContinue', 'checkExpectation'])

/** Options of a server that mean something here. The others are about connections of clients, which are Corral's. */
const OPTIONS = new Set([
  'IncomingMessage', 'ServerResponse', 'highWaterMark', 'joinDuplicateHeaders', 'optimizeEmptyRequests',
  'rejectNonStandardBodyWrites', 'requestTimeout', 'shouldUpgradeCallback', 'uniqueHeaders'
])

/** The default of Node.js. */
const REQUEST_TIMEOUT = new http.Server().requestTimeout

const ignored = Symbol('names of options that mean nothing on that socket')
const isServing = Symbol('serves on the socket that was handed over')

let isTaken = false

/** Whether there is a socket; true once, as one server can have it. */
function takeSocket () {
  if (!isHandedOver() || isTaken) return false
  isTaken = true
  return true
}

// No class: applications call `http.Server()` without `new`, and inherit from it as from a function.
function Server (options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener)
  if (typeof options === 'function') [options, listener] = [{}, options]
  http.Server.call(this, { ServerResponse, ...options }, listener)
  this[ignored] = Object.keys(options ?? {}).filter(name => !OPTIONS.has(name))
}
Object.setPrototypeOf(Server.prototype, http.Server.prototype)
Object.setPrototypeOf(Server, http.Server)

/** Ignores its arguments where there is a socket. */
Server.prototype.listen = function listen (...args) {
  if (!takeSocket()) return http.Server.prototype.listen.apply(this, args)
  this[isServing] = true
  // How long a client may take for a body is for Corral to say.
  if (this.requestTimeout === REQUEST_TIMEOUT) this.requestTimeout = 0
  if (this[ignored].length > 0) {
    warnOnce('UNIT_HTTP_OPTIONS', `options of the server that have no effect, as connections are Corral's: ${this[ignored].join(', ')}`)
  }
  endOnSignal(this)
  const callback = args.at(-1)
  return http.Server.prototype.listen.call(this, { fd: DESCRIPTOR }, typeof callback === 'function' ? callback : undefined)
}

Server.prototype.address = function address () {
  return this[isServing] && this.listening ? { ...ADDRESS } : http.Server.prototype.address.call(this)
}

Server.prototype.emit = function emit (event, request, ...others) {
  if (EVENTS.has(event) && this[isServing]) introduce(request, event)
  return http.Server.prototype.emit.call(this, event, request, ...others)
}

/** Lets the request's socket speak of the client rather than of Corral, which uses it for one client after the other. */
function introduce (request, event) {
  const client = takeClient(request)
  if (!client) return
  const { socket } = request
  for (const name of Object.keys(client)) {
    Object.defineProperty(socket, name, { value: client[name], configurable: true, enumerable: true, writable: true })
  }
  // Upgraded, it is that client's for ever. Otherwise it may be asked about when it is the next one's already.
  if (event !== 'upgrade' && event !== 'connect') request.socket = new Proxy(socket, new View(client))
}

/** A socket as one request sees it. */
class View {
  constructor (client) { this.client = client }

  get (socket, name) {
    return Object.hasOwn(this.client, name) ? this.client[name] : socket[name]
  }
}

/** Corral says that it is over when no requests are left. An application that listens to that signal decides itself. */
function endOnSignal (server) {
  process.once('SIGTERM', () => {
    if (process.listenerCount('SIGTERM') > 0) return
    server.close(() => setImmediate(() => process.exit()))
    server.closeIdleConnections()
  })
}

function createServer (options, listener) {
  return new Server(options, listener)
}

module.exports = { IncomingMessage: http.IncomingMessage, Server, ServerResponse, createServer }
