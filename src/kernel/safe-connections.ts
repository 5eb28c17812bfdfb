/**
 * Kept connections to addresses that users entered, for frequent requests such as webhooks. The guards are those of `safe-fetch.ts`: every
 * new connection resolves and checks the name once and goes to the checked address. No redirects, no proxies.
 */
import { isIP, connect as openPlain, type Socket } from 'node:net'
import { connect as openSecure, type TLSSocket } from 'node:tls'
import { createResponseReader, type ResponseReader } from './http-response.ts'
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
   * Returns the status of the response; its body is discarded. Throws RefusedAddress, or the error of the connection. Connections are
   * shared only by requests of the same group to the same host.
   */
  send(group: string, address: string, request: SafeRequest): Promise<number>
  close(): void
}

export interface SafeConnectionsOptions extends Pick<SafeFetchOptions, 'allowPrivate' | 'allowHttp' | 'lookup'> {
  /** Connections of one group to one host. */
  perHost: number
  /** Groups and hosts with idle connections; the connections unused for longest are closed. */
  idleHosts?: number
  /** Certificates of authorities in addition to those of Node.js, in tests. */
  ca?: string
}

/** An idle connection is closed after this time. */
const idleMs = 4000
const bodyBytesMax = 64 * 1024
/** A body that takes longer is not read to its end, and its connection is closed. */
const bodyMs = 1000

/** A request that waits for a connection or for its response. */
interface Exchange {
  data: Buffer
  done(status: number): void
  fail(error: Error): void
  timer: NodeJS.Timeout
  /** True if it must not use a kept connection. */
  isOnNew: boolean
  isSettled: boolean
}

interface Connection {
  socket: Socket | TLSSocket
  /** The exchange whose response is being read; undefined while the connection is idle. */
  exchange: Exchange | undefined
  reader: ResponseReader | undefined
  /** Ends the connection if the body of the response takes too long. */
  bodyTimer: NodeJS.Timeout | undefined
  /** Number of requests that were sent on it. */
  requests: number
}

interface Host {
  key: string
  url: URL
  idle: Connection[]
  open: Set<Connection>
  waiting: Exchange[]
  /** Requests that have no answer yet. */
  active: number
  /** The last TLS session, for a faster handshake. */
  session?: Buffer
}

interface State extends SafeConnectionsOptions {
  /** Hosts in the order of their last use. */
  hosts: Map<string, Host>
}

export function createSafeConnections(options: SafeConnectionsOptions): SafeConnections {
  const state: State = { ...options, hosts: new Map() }
  return {
    async send(group, address, request) {
      const checked = checkAddress(address, state)
      if ('problem' in checked) throw new RefusedAddress(checked.problem)
      const { url } = checked
      const data = encode(url, request)
      const host = enter(state, `${group} ${url.origin}`, url)
      try {
        return await exchange(state, host, data, request.timeoutMs, false)
      } catch (error) {
        // The receiver may close an idle connection at the moment of the next request, which it then never reads.
        if (!(error instanceof StaleConnection)) throw error
        return await exchange(state, host, data, request.timeoutMs, true)
      } finally {
        host.active--
        closeIdle(state)
      }
    },
    close() {
      for (const host of state.hosts.values()) closeAll(host)
      state.hosts.clear()
    },
  }
}

const closeAll = ({ open }: Host) => {
  for (const { socket } of open) socket.destroy()
}

function enter(state: State, key: string, url: URL): Host {
  const host = state.hosts.get(key) ?? { key, url, idle: [], open: new Set(), waiting: [], active: 0 }
  state.hosts.delete(key)
  state.hosts.set(key, host)
  host.active++
  return host
}

function closeIdle({ hosts, idleHosts = 256 }: State) {
  if (hosts.size <= idleHosts) return
  for (const [key, host] of hosts) {
    if (host.active > 0) continue
    closeAll(host)
    hosts.delete(key)
    if (hosts.size <= idleHosts) return
  }
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns the bytes of a request. */
function encode({ host, pathname, search }: URL, { method, headers, body }: SafeRequest): Buffer {
  const length = Buffer.byteLength(body)
  let head = `${method} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\ncontent-length: ${length}\r\n`
  if (headers['user-agent'] === undefined) head += 'user-agent: waypost\r\n'
  for (const [name, value] of Object.entries(headers)) {
    // Otherwise a value could end the header and begin another one.
    if (!headerName.test(name) || !headerValue.test(value))
      throw new Error(`the header ${JSON.stringify(name)} is wrong`)
    head += `${name}: ${value}\r\n`
  }
  head += '\r\n'
  const data = Buffer.allocUnsafe(head.length + length)
  data.write(head, 0, 'latin1')
  if (typeof body === 'string') data.write(body, head.length, 'utf8')
  else data.set(body, head.length)
  return data
}

/** A kept connection was closed before any part of the response came. */
class StaleConnection extends Error {}

const connectionResetError = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

function exchange(state: State, host: Host, data: Buffer, timeoutMs: number, isOnNew: boolean): Promise<number> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      const index = host.waiting.indexOf(waiting)
      if (index >= 0) host.waiting.splice(index, 1)
      const error = new Error(`no response headers within ${timeoutMs / 1000} s`)
      fail(error)
      for (const { exchange, socket } of host.open) if (exchange === waiting) socket.destroy(error)
    }, timeoutMs)
    const waiting: Exchange = { data, done, fail, timer, isOnNew, isSettled: false }
    host.waiting.push(waiting)
    assign(state, host)
  })
}

/** Gives requests that wait to connections. */
function assign(state: State, host: Host) {
  for (let next = host.waiting[0]; next; next = host.waiting[0]) {
    const connection = (next.isOnNew ? undefined : host.idle.pop()) ?? openOne(state, host)
    if (!connection) return
    host.waiting.shift()
    connection.exchange = next
    connection.reader = createResponseReader()
    connection.requests++
    connection.socket.ref()
    connection.socket.write(next.data)
  }
}

/** Opens a connection; undefined if the host has as many as it may. An idle one is closed to make room. */
function openOne(state: State, host: Host): Connection | undefined {
  if (host.open.size >= state.perHost) host.idle.shift()?.socket.destroy()
  if (host.open.size - countDestroyed(host) >= state.perHost) return undefined
  const socket = openSocket(state, host)
  const connection: Connection = {
    socket,
    exchange: undefined,
    reader: undefined,
    bodyTimer: undefined,
    requests: 0,
  }
  host.open.add(connection)
  let failure: Error | undefined
  socket.setNoDelay(true)
  socket.setTimeout(idleMs, () => {
    if (!connection.exchange && !connection.reader) socket.destroy()
  })
  socket.on('data', (chunk: Buffer) => receive(state, host, connection, chunk))
  socket.on('error', (error) => {
    failure = error
  })
  socket.on('end', () => socket.destroy())
  socket.on('close', () => {
    host.open.delete(connection)
    removeIdle(host, connection)
    clearTimeout(connection.bodyTimer)
    if (connection.exchange) settleClosed(connection, connection.exchange, failure)
    assign(state, host)
  })
  return connection
}

function countDestroyed({ open }: Host): number {
  let count = 0
  for (const { socket } of open) if (socket.destroyed) count++
  return count
}

function removeIdle({ idle }: Host, connection: Connection) {
  const index = idle.indexOf(connection)
  if (index >= 0) idle.splice(index, 1)
}

function openSocket(state: State, host: Host): Socket | TLSSocket {
  const { protocol, hostname, port } = host.url
  const isSecure = protocol === 'https:'
  const name = hostname.replace(/^\[|\]$/g, '')
  const target = {
    host: name,
    port: Number(port === '' ? (isSecure ? 443 : 80) : port),
    lookup: ((_host: string, { all }: { all?: boolean }, answer: (...result: unknown[]) => void) =>
      void resolveAddress(host.url, state).then(
        (found) => (all ? answer(null, [found]) : answer(null, found.address, found.family)),
        (error) => answer(error, '', 0),
      )) as never,
  }
  if (!isSecure) return openPlain(target)
  const socket = openSecure({
    ...target,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(name) === 0 && { servername: name }),
    ...(state.ca !== undefined && { ca: state.ca }),
    ...(host.session && { session: host.session }),
  })
  socket.on('session', (session) => {
    host.session = session
  })
  return socket
}

function settleClosed({ requests, reader }: Connection, exchange: Exchange, failure: Error | undefined) {
  clearTimeout(exchange.timer)
  if (exchange.isSettled) return
  exchange.isSettled = true
  const error = failure ?? connectionResetError()
  const { code } = error as NodeJS.ErrnoException
  const isStale = requests > 1 && (code === 'ECONNRESET' || code === 'EPIPE') && !reader?.hasBegun
  exchange.fail(isStale ? new StaleConnection() : error)
}

function receive(state: State, host: Host, connection: Connection, chunk: Buffer) {
  const { exchange, reader, socket } = connection
  // A receiver that sends without a request is not trusted with the next one.
  if (!reader) return void socket.destroy()
  try {
    reader.read(chunk)
  } catch (error) {
    return void socket.destroy(error as Error)
  }
  if (reader.status === undefined) return
  if (exchange && !exchange.isSettled) {
    exchange.isSettled = true
    clearTimeout(exchange.timer)
    exchange.done(reader.status)
  }
  if (reader.isComplete) return complete(state, host, connection, reader)
  if (reader.bodyBytes > bodyBytesMax) socket.destroy()
  else connection.bodyTimer ??= setTimeout(() => socket.destroy(), bodyMs).unref()
}

function complete(state: State, host: Host, connection: Connection, { isReusable }: ResponseReader) {
  clearTimeout(connection.bodyTimer)
  connection.bodyTimer = undefined
  connection.exchange = undefined
  connection.reader = undefined
  // A receiver that answers before it has read the request may not read the rest of it.
  if (!isReusable || connection.socket.writableLength > 0) return void connection.socket.destroy()
  host.idle.push(connection)
  connection.socket.unref()
  assign(state, host)
}
