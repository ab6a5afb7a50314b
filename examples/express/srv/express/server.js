const express = require('express')

const app = express()
app.set('trust proxy', true)
app.get('/', (request, response) => response.send(`hello ${request.ip} by ${request.protocol}\n`))

const server = app.listen({ fd: 3 })
process.on('SIGTERM', () => server.close())
