// What `import` of http gives. Modules have to name what they export; members that this Node.js has not are undefined.
import http from './http.js'

export default http
export const {
  Agent, ClientRequest, CloseEvent, IncomingMessage, METHODS, MessageEvent, OutgoingMessage, STATUS_CODES, Server,
  ServerResponse, WebSocket, _connectionListener, createServer, get, globalAgent, maxHeaderSize, request,
  setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue
} = http
