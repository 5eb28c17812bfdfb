/**
 * The HTTP servers of one application, one for each address of the host name. They share the limit of connections and have the
 * same timeouts and event handlers.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { IsProxy } from '../client-address.ts'
import type { Log } from '../log.ts'
import { createConnectionLimit, type HttpConnections } from './connections.ts'
import { secondAddressFailed } from './log-messages.ts'
import { deferContinue } from './streaming.ts'

/** Time for the headers of a request, and for the first request of a connection. The default of Node.js is one minute. */
const headersMs = 15_000
/** Longer than load balancers keep idle connections (60 s): otherwise they could send a request while the connection is closed. */
const keepAliveTimeout = 72_000

const loopback = ['127.0.0.1', '::1']

export interface Listeners {
  /** For Fastify, which calls it once. */
  serverFactory(handler: RequestListener): Server
  /** `localhost` listens on 127.0.0.1 and ::1 if the machine has them. */
  listen(app: FastifyInstance, at: { host: string; port: number }): Promise<void>
  closeIdle(): void
  closeAll(): void
  /** Closes the servers that Fastify does not know. Resolves when their last connection has ended. */
  close(): Promise<void>
}

export function createListeners(deps: {
  connections: HttpConnections
  isProxy: IsProxy
  log: Log
  /** Called when a server could not accept a connection; the server continues. */
  acceptFailed(error: Error): void
  headersTimeout?: number
}): Listeners {
  const { headersTimeout = headersMs } = deps
  const limitConnections = createConnectionLimit(deps.connections, deps.isProxy)
  const servers: Server[] = []
  let handler: RequestListener | undefined

  function newServer() {
    // No requestTimeout, which would also end a long upload: see limitBodyTime.
    const timeouts = { headersTimeout, keepAliveTimeout, requestTimeout: 0 }
    const server = createServer({ ...timeouts, connectionsCheckingInterval: headersTimeout / 3 }, handler)
    deferContinue(server)
    limitConnections(server)
    return server
  }

  /** Fastify and the gateway register their handlers only at the first server. */
  function newFurtherServer(first: Server) {
    const server = newServer()
    // A listener for `upgrade` that does nothing would leave the request without a response.
    for (const event of ['upgrade', 'clientError'])
      if (first.listenerCount(event) > 0) server.on(event, (...args) => first.emit(event, ...args))
    return server
  }

  async function listenFurther(first: Server, address: string, port: number) {
    const server = newFurtherServer(first)
    try {
      await listenOn(server, address, port)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The machine does not have this address.
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return
      secondAddressFailed(deps.log, { err: error, address, port })
      return
    }
    server.on('error', deps.acceptFailed)
    servers.push(server)
  }

  return {
    serverFactory(requestHandler) {
      handler = requestHandler
      servers.push(newServer())
      return servers[0]!
    },
    async listen(app, { host, port }) {
      await app.listen({ host, port })
      app.server.on('error', deps.acceptFailed)
      if (host !== 'localhost') return
      const first = app.server.address() as AddressInfo
      for (const address of loopback)
        if (address !== first.address) await listenFurther(app.server, address, first.port)
    },
    closeIdle() {
      for (const server of servers) server.closeIdleConnections()
    },
    closeAll() {
      for (const server of servers) server.closeAllConnections()
    },
    async close() {
      await Promise.all(servers.slice(1).map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

const listenOn = (server: Server, host: string, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
