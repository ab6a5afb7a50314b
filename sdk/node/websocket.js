// Drop-in for the package `websocket`, which Unit's module was made of: server, request, connection, frame, router.
'use strict'

const websocket = require('websocket')
const { isHandedOver } = require('./socket')

const own = websocket.server

// No class: applications inherit from it as from a function.
function Server (config) {
  own.call(this, config)
}
Object.setPrototypeOf(Server.prototype, own.prototype)
Object.setPrototypeOf(Server, own)

/** How large a frame may be is said by Corral's settings, which bound it before it comes here; as in Unit's package. */
Server.prototype.mount = function mount (config) {
  const limits = isHandedOver() ? { maxReceivedFrameSize: Infinity } : {}
  return own.prototype.mount.call(this, { ...limits, ...config })
}

module.exports = { ...websocket, server: Server }
