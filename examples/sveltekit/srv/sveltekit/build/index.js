// A stand-in for the server that `vite build` makes: listens where that one does.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  response.end(`sveltekit ${request.url} for ${request.headers['x-forwarded-for']} by ${request.headers['x-forwarded-proto']}\n`)
})
server.listen(process.env.LISTEN_FDS === '1' && process.env.LISTEN_PID === String(process.pid) ? { fd: 3 } : process.env.PORT)
process.on('SIGTERM', () => server.close())
