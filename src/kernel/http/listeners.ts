/**
 * The HTTP and HTTPS servers of one Fastify instance. There is one server for each address of the host name. All servers share the limit of
 * connections and have the same timeouts and event handlers.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { IsProxy } from '../client-address.ts'
import type { Log } from '../log.ts'
import type { ServerCertificate } from '../server-certificate.ts'
import { createConnectionLimit, type HttpConnections } from './connections.ts'
import { followHandshakes } from './handshakes.ts'
import { secondAddressFailed } from './log-messages.ts'
import { deferContinue } from './streaming.ts'

/** Maximum time for the headers of a request, and for the first request of a connection. The default of Node.js is one minute. */
const headersMs = 15_000
/**
 * Time for which idle connections stay open. It is longer than the 60 s of load balancers, which could otherwise send a request while the
 * connection is being closed.
 */
const keepAliveTimeout = 72_000

/** Time for a TLS handshake. */
const handshakeTimeout = 10_000

const tlsOptions = { minVersion: 'TLSv1.2' as const, handshakeTimeout }
const loopback = ['127.0.0.1', '::1']

export interface Address {
  host: string
  port: number
}

export interface Listeners {
  /** Creates the server; Fastify calls it once. */
  serverFactory(handler: RequestListener): Server
  /** Opens the HTTP listeners. `localhost` listens on both 127.0.0.1 and ::1 if the machine has these addresses. */
  listen(app: FastifyInstance, at: Address): Promise<void>
  /** Opens HTTPS beside HTTP, before or after `listen`, and returns its port. The renewal of a certificate does not end connections. */
  listenSecurely(app: FastifyInstance, at: Address, certificate: ServerCertificate): Promise<number>
  closeIdle(): void
  closeAll(): void
  /** Closes the servers that Fastify does not manage. Resolves when their last connection has ended. */
  close(): Promise<void>
}

export function createListeners(deps: {
  connections: HttpConnections
  isProxy: IsProxy
  log: Log
  /** Called when a server could not accept a connection; the server continues. */
  acceptFailed(error: Error): void
  headersTimeout?: number
  /** Returns whether a request over plain HTTP is redirected. Such a request cannot become a WebSocket. */
  isRedirected?: (request: IncomingMessage) => boolean
}): Listeners {
  const { headersTimeout = headersMs } = deps
  const limitConnections = createConnectionLimit(deps.connections, deps.isProxy)
  // `requestTimeout` is not set, because it would also end a long upload. limitBodyTime limits the time instead.
  const timeouts = {
    headersTimeout,
    keepAliveTimeout,
    requestTimeout: 0,
    connectionsCheckingInterval: headersTimeout / 3,
  }
  const servers: (Server | SecureServer)[] = []
  let handler: RequestListener | undefined

  const isRedirected = deps.isRedirected ?? (() => false)
  const whenClosing: (() => void)[] = []

  function newServer() {
    const server: Server = createServer(
      {
        ...timeouts,
        shouldUpgradeCallback: (request) => upgrades(server, request) && !isRedirected(request),
      },
      handler,
    )
    return prepared(server)
  }

  function newSecureServer(context: SecureContextOptions) {
    const server: SecureServer = createSecureServer(
      { ...timeouts, ...tlsOptions, ...context, shouldUpgradeCallback: (request) => upgrades(server, request) },
      handler,
    )
    const handshakes = followHandshakes(server, { started() {} })
    whenClosing.push(handshakes.destroy)
    return prepared(server)
  }

  function prepared<S extends Server | SecureServer>(server: S): S {
    deferContinue(server)
    limitConnections(server)
    return server
  }

  async function listenFurther<S extends Server | SecureServer>(server: S, address: string, port: number) {
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

  async function listenSecurely(app: FastifyInstance, at: Address, certificate: ServerCertificate) {
    await app.ready()
    const newShared = (context: SecureContextOptions) => shareHandlers(app.server, newSecureServer(context))
    const opened = await openSecurely(at, certificate, { newShared, listenFurther })
    opened.first.on('error', deps.acceptFailed)
    servers.push(opened.first)
    whenClosing.push(opened.stopRenewing)
    return opened.port
  }

  return {
    serverFactory(requestHandler) {
      handler = requestHandler
      const server = newServer()
      servers.push(server)
      return server
    },
    async listen(app, { host, port }) {
      await app.listen({ host, port })
      app.server.on('error', deps.acceptFailed)
      if (host !== 'localhost') return
      const first = app.server.address() as AddressInfo
      for (const address of loopback)
        if (address !== first.address) await listenFurther(shareHandlers(app.server, newServer()), address, first.port)
    },
    listenSecurely,
    closeIdle() {
      for (const server of servers) server.closeIdleConnections()
    },
    closeAll() {
      for (const server of servers) server.closeAllConnections()
    },
    async close() {
      for (const end of whenClosing.splice(0)) end()
      await Promise.all(servers.slice(1).map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

/**
 * Returns whether a request becomes a WebSocket. Other upgrades are ignored (RFC 9110, 7.8): Java and `curl --http2` offer `h2c` with every
 * first request, and expect an ordinary response to this request.
 */
const upgrades = (server: Server | SecureServer, { headers }: IncomingMessage) =>
  server.listenerCount('upgrade') > 0 && /(^|,)\s*websocket\s*(,|$)/i.test(headers.upgrade ?? '')

const listenOn = (server: Server | SecureServer, host: string, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })

/** Copies the event handlers of the first server. Fastify and the gateway register their handlers only on the first server. */
function shareHandlers<S extends Server | SecureServer>(first: Server, server: S): S {
  // An `upgrade` listener is added only if the first server has such a listener, because a listener that does nothing would leave the
  // request without a response.
  for (const event of ['upgrade', 'clientError'])
    if (first.listenerCount(event) > 0) server.on(event, (...args) => first.emit(event, ...args))
  return server
}

/** Opens HTTPS for every address of the host, and renews the certificate of all servers. */
async function openSecurely(
  { host, port }: Address,
  certificate: ServerCertificate,
  parts: {
    newShared(context: SecureContextOptions): SecureServer
    listenFurther(server: SecureServer, address: string, port: number): Promise<void>
  },
) {
  const context = await certificate.current()
  const first = parts.newShared(context)
  const all = [first]
  await listenOn(first, host, port)
  const listening = first.address() as AddressInfo
  if (host === 'localhost')
    for (const address of loopback)
      if (address !== listening.address) {
        const further = parts.newShared(context)
        all.push(further)
        await parts.listenFurther(further, address, listening.port)
      }
  const stopRenewing = certificate.onRenewal((renewed) => {
    for (const server of all) server.setSecureContext({ ...tlsOptions, ...renewed })
  })
  return { first, port: listening.port, stopRenewing }
}
