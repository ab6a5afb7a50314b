// A stand-in for the server that `astro build` makes: listens where that one does.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  response.end(`astro ${request.url} for ${request.headers['x-forwarded-for']} by ${request.headers['x-forwarded-proto']}\n`)
})
server.listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => server.close())
