/** Accepts MQTT over WebSocket on the HTTP server: /mqtt and /ws, with the subprotocol `mqtt` or `mqttv3.1`, or without a subprotocol. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import { clientAddress, type IsProxy } from '../../kernel/client-address.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import { leaveHttp } from '../../kernel/http/connections.ts'
import type { ConnectionLimits } from '../connection-limits.ts'
import type { ConnectionState } from '../connection-state.ts'
import type { Sessions } from '../mqtt/host.ts'

export interface WebSocketDeps {
  trustProxy: IsProxy
  /** Returns undefined while the MQTT layer is not open. */
  sessions: () => Sessions<ConnectionState> | undefined
  limits: ConnectionLimits
}

const paths = new Set(['/mqtt', '/ws'])
const protocols = ['mqtt', 'mqttv3.1']
/** Maximum size of a frame: twice the maximum size of a packet, because a frame may contain several packets. */
const frameBytesMax = 2 * bodyLimitBytes
/** Above this number of unsent bytes, pings are not answered, because pongs would fill the send buffer of a client that does not read. */
const unsentForPongMax = 65_536

export function acceptWebSockets(server: Server, deps: WebSocketDeps) {
  const accepting = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: frameBytesMax,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols: (offered) => protocols.find((protocol) => offered.has(protocol)) ?? false,
  })

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const path = request.url?.split('?')[0]?.replace(/(?<=.)\/$/, '') ?? ''
    if (!paths.has(path)) return answer(socket, '404 Not Found', 'The path is unknown; MQTT is at /mqtt and /ws')
    const sessions = deps.sessions()
    if (!sessions) return answer(socket, '503 Service Unavailable', 'The platform is starting or stopping')
    const address = clientAddress(request, deps.trustProxy)
    const slot = deps.limits.acquireSlot('websocket', address, socket)
    if (slot) socket.once('close', () => deps.limits.releaseSlot(slot))
    if (!slot || slot.refusal) return answer(socket, '503 Service Unavailable', 'Too many connections')
    leaveHttp(socket)
    accepting.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
      webSocket.on('ping', (data) => {
        if (webSocket.bufferedAmount < unsentForPongMax) webSocket.pong(data)
      })
      // MQTT-6.0.0-1: a frame with text closes the connection. This listener runs before the listener of the stream, so the bytes of the
      // frame are not read.
      webSocket.on('message', (_data, isBinary) => {
        if (!isBinary) stream.destroy()
      })
      const stream = createWebSocketStream(webSocket, { allowHalfOpen: false })
      slot.accepted = sessions.accept(stream, slot)
    })
  })
}

function answer(socket: Duplex, status: string, message: string) {
  const body = JSON.stringify({ message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
    // The socket is destroyed, because a client that does not close its side would keep the file descriptor open.
    () => socket.destroy(),
  )
}
