// The client, as Corral names it in a header of its own: Corral-Client: for="192.0.2.1:49152";by="192.0.2.9:443";proto=https
'use strict'

const FIELD = 'corral-client'
const UNIX = 'unix:'

/** Takes the field out of a request, and returns what it says; nothing when it is not there. */
function takeClient (request) {
  const { rawHeaders } = request
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at].length === FIELD.length && rawHeaders[at].toLowerCase() === FIELD) {
      // These are made of the raw ones when they are asked for, which is no more possible then.
      const { headers, headersDistinct } = request
      const [, text] = rawHeaders.splice(at, 2)
      delete headers[FIELD]
      delete headersDistinct[FIELD]
      return parse(text)
    }
  }
}

/** The values that a socket to the client itself would have. */
function parse (text) {
  const said = Object.fromEntries(text.split(';').map(pair => pair.split('=')))
  const remote = node(said.for)
  const local = node(said.by)
  return {
    remoteAddress: remote.address,
    remoteFamily: family(remote.address),
    remotePort: remote.port,
    localAddress: local.address,
    localFamily: family(local.address),
    localPort: local.port,
    encrypted: said.proto === 'https'
  }
}

/** Clients that are named without a port have 0. */
function node (text = '') {
  const found = /^"(?:\[([\da-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?"$/.exec(text)
  if (!found) return { address: UNIX, port: 0 }
  return { address: found[1] ?? found[2], port: Number(found[3] ?? 0) }
}

function family (address) {
  if (address === UNIX) return undefined
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

module.exports = { parse, takeClient }
