/** Tracks the TLS handshakes of a server. Node.js reports the TCP socket and the TLS socket, but not that they belong together. */
import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'

const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

export function followHandshakes(
  server: Server,
  { started, completed }: { started(socket: Socket): void; completed?(secured: TLSSocket, socket: Socket): void },
) {
  const running = new Map<string, Socket>()
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    running.set(key, socket)
    socket.once('close', () => {
      if (running.get(key) === socket) running.delete(key)
    })
    started(socket)
  })
  // This listener runs before the listener of the HTTP parser.
  server.prependListener('secureConnection', (secured: TLSSocket) => {
    const key = keyOf(secured)
    const socket = running.get(key)
    running.delete(key)
    if (!socket) return void secured.destroy()
    completed?.(secured, socket)
  })
  return {
    /** Ends the handshakes that are not complete. */
    destroy() {
      for (const socket of running.values()) socket.destroy()
    },
  }
}
