// A stand-in for the server that `nuxt build` makes: listens where that one does.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  response.end(`nuxt ${request.url} for ${request.headers['x-forwarded-for']} by ${request.headers['x-forwarded-proto']}\n`)
})
server.listen(process.env.NITRO_UNIX_SOCKET)
process.on('SIGTERM', () => server.close())
