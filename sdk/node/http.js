// Drop-in for the module `http`: the same, but for the server.
'use strict'

const http = require('http')
const { IncomingMessage, Server, ServerResponse, createServer } = require('./server')

// By descriptors: some members are made when they are asked for.
module.exports = Object.defineProperties({}, {
  ...Object.getOwnPropertyDescriptors(http),
  ...Object.getOwnPropertyDescriptors({ IncomingMessage, Server, ServerResponse, createServer })
})
