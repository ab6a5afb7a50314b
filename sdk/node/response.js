// Responses as Unit's package has them: the head is what has been said before the first piece of the body, in any order.
'use strict'

const http = require('http')
const { warnOnce } = require('./warnings')

const own = http.ServerResponse.prototype

// No class: frameworks inherit from it as from a function.
function ServerResponse (...args) {
  if (!(this instanceof ServerResponse)) return new ServerResponse(...args)
  http.ServerResponse.apply(this, args)
}
Object.setPrototypeOf(ServerResponse.prototype, own)
Object.setPrototypeOf(ServerResponse, http.ServerResponse)

/** Only notes what it is told: a later word about the status or a field is heard, too. */
ServerResponse.prototype.writeHead = function writeHead (statusCode, reason, fields) {
  if (this.headersSent) return late(this)
  const status = statusCode | 0
  // Node.js says what is wrong with it.
  if (status < 100 || status > 999) return own.writeHead.call(this, statusCode)
  if (typeof reason === 'string') this.statusMessage = reason
  this.statusCode = status
  setFields(this, (typeof reason === 'string' ? fields : fields ?? reason) ?? {})
  return this
}
ServerResponse.prototype.writeHeader = ServerResponse.prototype.writeHead

/** The method that Node.js calls before the first piece; by its public name first, which middleware replaces. */
ServerResponse.prototype._implicitHeader = function _implicitHeader () {
  this.writeHead(this.statusCode)
  if (!this.headersSent) own.writeHead.call(this, this.statusCode)
}

/** An object, a list of names and values, or a list of pairs. */
function setFields (response, fields) {
  if (!Array.isArray(fields)) {
    for (const name of Object.keys(fields)) if (name) response.setHeader(name, fields[name])
    return
  }
  const list = Array.isArray(fields[0]) ? fields.flat(1) : fields
  const pairs = []
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at], list[at + 1]])
  for (const [name] of pairs) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

/** An undefined value goes out as that word. */
ServerResponse.prototype.setHeader = function setHeader (name, value) {
  return this.headersSent ? late(this) : own.setHeader.call(this, name, value === undefined ? 'undefined' : value)
}

for (const name of ['appendHeader', 'setHeaders', 'removeHeader']) {
  if (!own[name]) continue
  ServerResponse.prototype[name] = function (...args) {
    return this.headersSent ? late(this) : own[name].apply(this, args)
  }
}

function late (response) {
  warnOnce('UNIT_HTTP_HEAD_SENT', 'the head of a response was sent before: what is said of status and fields then is lost')
  return response
}

/** Nothing is an empty piece. */
ServerResponse.prototype.write = function write (chunk, ...others) {
  return own.write.call(this, chunk || '', ...others)
}

module.exports = { ServerResponse }
