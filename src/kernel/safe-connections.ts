/**
 * Keeps connections open to addresses that users entered, for frequent requests such as webhooks. The checks are the same as in
 * `safe-fetch.ts`: for each new connection the name is resolved and checked once, and the connection goes to the checked address. There are
 * no redirects and no proxies. ADR 33 explains why the client is undici.
 */
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher, Pool } from 'undici'
import { checkAddress, RefusedAddress, resolveAddress, type SafeFetchOptions } from './safe-fetch.ts'

export interface SafeRequest {
  method: string
  headers: Record<string, string>
  body: string | Uint8Array
  /** Time limit from connecting to the end of the response headers. */
  timeoutMs: number
}

export interface SafeConnections {
  /**
   * Returns the status of the response; the body is discarded. Throws RefusedAddress, or the error of the connection. Only requests of the
   * same group to the same host share connections.
   */
  send(group: string, address: string, request: SafeRequest): Promise<number>
  close(): void
}

export interface SafeConnectionsOptions extends Pick<SafeFetchOptions, 'allowPrivate' | 'allowHttp' | 'lookup'> {
  /** Maximum number of connections of one group to one host. */
  perHost: number
  /** Maximum number of pairs of group and host with idle connections. The connections that were unused for the longest time are closed. */
  idleHosts?: number
  /** Certificate authorities that tests trust in addition to the authorities of Node.js. */
  ca?: string
}

/** An idle connection is closed after this time. */
const idleMs = 4000
const headBytesMax = 16 * 1024
const bodyBytesMax = 64 * 1024
/** A body that takes longer than this is not read to its end, and its connection is closed. */
const bodyMs = 1000

interface Host {
  pool: Pool
  /** Requests that have no answer yet. */
  active: number
  /** Number of the last request; later requests have higher numbers. */
  lastUse: number
}

interface State extends SafeConnectionsOptions {
  hosts: Map<string, Host>
  /** Number of requests so far. */
  uses: number
}

export function createSafeConnections(options: SafeConnectionsOptions): SafeConnections {
  const state: State = { ...options, hosts: new Map(), uses: 0 }
  return {
    async send(group, address, request) {
      const checked = checkAddress(address, state)
      if ('problem' in checked) throw new RefusedAddress(checked.problem)
      const { url } = checked
      const host = enter(state, `${group} ${url.origin}`, url, request.timeoutMs)
      try {
        // The receiver may close an idle connection while the next request is on its way, and then never reads that request. The request is
        // therefore sent again.
        return await exchange(host, url, request).catch((error) => {
          if (!isStale(error)) throw error
          return exchange(host, url, request)
        })
      } catch (error) {
        throw (error as ConnectionError).code === 'UND_ERR_SOCKET' ? hungUp() : error
      } finally {
        host.active--
        closeIdle(state)
      }
    },
    close() {
      for (const host of state.hosts.values()) closeHost(host)
      state.hosts.clear()
    },
  }
}

/** Closes the connections to a host. Requests in progress fail with the error of their connection. */
const closeHost = ({ pool }: Host) => void pool.destroy().catch(() => {})

function enter(state: State, key: string, url: URL, timeoutMs: number): Host {
  let host = state.hosts.get(key)
  if (!host) {
    host = { pool: openPool(state, url, timeoutMs), active: 0, lastUse: 0 }
    state.hosts.set(key, host)
  }
  host.lastUse = ++state.uses
  host.active++
  return host
}

function closeIdle({ hosts, idleHosts = 256 }: State) {
  if (hosts.size <= idleHosts) return
  const idle = [...hosts].filter(([, { active }]) => active === 0)
  idle.sort(([, one], [, other]) => one.lastUse - other.lastUse)
  for (const [key, host] of idle.slice(0, hosts.size - idleHosts)) {
    closeHost(host)
    hosts.delete(key)
  }
}

interface Undici {
  Pool: typeof Pool
  buildConnector: typeof buildConnector
}

let loaded: Undici | undefined

/**
 * Loads the pool with the first request. The package's main module would take twice as much memory (29 MB), and would replace the
 * dispatcher of the global `fetch`.
 */
function undici(): Undici {
  const require = createRequire(import.meta.url)
  loaded ??= {
    Pool: require('undici/lib/dispatcher/pool.js'),
    buildConnector: require('undici/lib/core/connect.js'),
  }
  return loaded
}

function openPool(state: State, url: URL, timeoutMs: number): Pool {
  const { Pool, buildConnector } = undici()
  const connect = buildConnector({
    timeout: timeoutMs,
    autoSelectFamily: false,
    lookup: ((_host: string, { all }: { all?: boolean }, answer: (...result: unknown[]) => void) =>
      void resolveAddress(url, state).then(
        (found) => (all ? answer(null, [found]) : answer(null, found.address, found.family)),
        (error) => answer(error, '', 0),
      )) as never,
    ...(state.ca !== undefined && { ca: state.ca }),
  })
  return new Pool(url.origin, {
    connections: state.perHost,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    maxHeaderSize: headBytesMax,
    // `exchange` has its own time limits. They are exact, and also end a response that arrives byte by byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (target, done) => connect(target, (error, socket) => connected(error, socket, done)),
  })
}

type Connected = Parameters<ReturnType<typeof buildConnector>>[1]

function connected(error: Error | null, socket: Socket | null, done: Connected) {
  if (error !== null || socket === null) return done(error ?? new Error('no connection'), null)
  // System errors do not say whether anything was received, so the number of received bytes is added.
  socket.on('error', (error: ConnectionError) => {
    error.socket ??= { bytesRead: socket.bytesRead }
  })
  done(null, socket)
}

const hungUp = () =>
  Object.assign(new Error('the receiver closed the connection without a response'), { code: 'ECONNRESET' })

interface ConnectionError extends NodeJS.ErrnoException {
  socket?: { bytesRead?: number }
}

/** Returns whether the receiver closed a connection on which it had already sent data before this request. */
function isStale(error: unknown): boolean {
  const { code = '', message, socket } = error as ConnectionError
  const isClosed = code === 'UND_ERR_SOCKET' ? message.endsWith('closed') : code === 'ECONNRESET' || code === 'EPIPE'
  return isClosed && (socket?.bytesRead ?? 0) > 0
}

/** Resolves with the status when the response has ended or reading its body was given up. */
function exchange({ pool }: Host, url: URL, { method, headers, body, timeoutMs }: SafeRequest): Promise<number> {
  return new Promise((done, fail) => {
    let controller: Dispatcher.DispatchController | undefined
    let failure: Error | undefined
    let status: number | undefined
    let bodyBytes = 0
    const end = (error?: Error) => {
      clearTimeout(timer)
      if (status !== undefined) done(status)
      else fail(error)
    }
    const abort = (error: Error) => {
      failure = error
      end(error)
      controller?.abort(error)
    }
    let timer = setTimeout(() => abort(new Error(`no response headers within ${timeoutMs / 1000} s`)), timeoutMs)
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given
        // The request waited for a connection until its time limit was reached.
        if (failure) given.abort(failure)
      },
      onResponseStart(_, statusCode) {
        // Responses such as 103 Early Hints come before the final response.
        if (statusCode < 200) return
        status = statusCode
        clearTimeout(timer)
        timer = setTimeout(() => abort(new Error('the body takes too long')), bodyMs)
      },
      onResponseData(_, chunk) {
        bodyBytes += chunk.length
        if (bodyBytes > bodyBytesMax) abort(new Error('the body is too long'))
      },
      onResponseEnd: () => end(),
      onResponseError: (_, error) => end(error),
    }
    const allHeaders = { 'user-agent': 'waypost', ...headers }
    pool.dispatch({ path: url.pathname + url.search, method: method as 'POST', headers: allHeaders, body }, handler)
  })
}
