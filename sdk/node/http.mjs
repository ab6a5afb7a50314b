// The exports of `import` of http. A module has to name them; members that this Node.js does not have are undefined.
import http from './http.js'

export default http
export const {
  Agent, ClientRequest, CloseEvent, IncomingMessage, METHODS, MessageEvent, OutgoingMessage, STATUS_CODES, Server,
  ServerResponse, WebSocket, _connectionListener, createServer, get, globalAgent, maxHeaderSize, request,
  setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue
} = http
