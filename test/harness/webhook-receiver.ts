/** An HTTP or HTTPS server that records the requests that it receives. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { afterAllTests } from './database.ts'

export interface ReceivedRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
  /** The number of the connection. The first connection has number 1. */
  connection: number
}

export type Respond = (response: ServerResponse, request: ReceivedRequest, socket: Socket) => void

export const ok: Respond = (response) => void response.writeHead(200).end('thanks')

/** Starts the server. A test can replace `respond` at any time. */
export async function aReceiver(first: Respond = ok, tls?: { cert: string; key: string }) {
  const requests: ReceivedRequest[] = []
  const connections = new Map<Socket, number>()
  const receiver = { respond: first, requests, underWay: 0, underWayMax: 0 }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    receiver.underWay++
    receiver.underWayMax = Math.max(receiver.underWayMax, receiver.underWay)
    response.on('close', () => receiver.underWay--)
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const received: ReceivedRequest = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        connection: connections.get(request.socket)!,
      }
      requests.push(received)
      receiver.respond(response, received, request.socket)
    })
  }
  const server = tls ? createSecureServer(tls, onRequest) : createServer(onRequest)
  let count = 0
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, ++count)
    socket.on('error', () => {})
    socket.on('close', () => connections.delete(socket))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done())
      for (const socket of connections.keys()) socket.destroy()
    })
  afterAllTests(close)
  return Object.assign(receiver, {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    connectionCount: () => count,
    openConnections: () => connections.size,
    close,
  })
}
