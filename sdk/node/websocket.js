// Drop-in for the package `websocket`, which Unit's module was made of: server, request, connection, frame, router.
'use strict'

module.exports = require('websocket')
