/**
 * Kept connections to addresses that users entered, for frequent requests such as webhooks. The guards are those of `safe-fetch.ts`: every
 * new connection resolves and checks the name once and goes to the checked address. No redirects, no proxies.
 */
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { addressProblem, RefusedAddress, resolveAddress, type SafeFetchOptions } from './safe-fetch.ts'

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

interface Host {
  agent: HttpAgent | HttpsAgent
  active: number
}

interface State extends SafeConnectionsOptions {
  /** Hosts in the order of their last use. */
  hosts: Map<string, Host>
}

export function createSafeConnections(options: SafeConnectionsOptions): SafeConnections {
  const state: State = { ...options, hosts: new Map() }
  return {
    async send(group, address, request) {
      const problem = addressProblem(address, state)
      if (problem) throw new RefusedAddress(problem)
      const url = new URL(address)
      const host = enter(state, `${group} ${url.origin}`, url)
      try {
        return await sendOnce(state, host.agent, url, request)
      } catch (error) {
        // The receiver may close an idle connection at the moment of the next request, which it then never reads.
        if (!(error instanceof StaleConnection)) throw error
        return await sendOnce(state, undefined, url, request)
      } finally {
        host.active--
        closeIdle(state)
      }
    },
    close() {
      for (const { agent } of state.hosts.values()) agent.destroy()
      state.hosts.clear()
    },
  }
}

function enter(state: State, key: string, url: URL): Host {
  const host = state.hosts.get(key) ?? { agent: agentFor(state, url), active: 0 }
  state.hosts.delete(key)
  state.hosts.set(key, host)
  host.active++
  return host
}

function agentFor({ perHost, ca }: State, { protocol }: URL) {
  const options = { keepAlive: true, maxSockets: perHost, maxFreeSockets: perHost, timeout: idleMs }
  return protocol === 'https:'
    ? new HttpsAgent({ ...options, ...(ca !== undefined && { ca }) })
    : new HttpAgent(options)
}

function closeIdle({ hosts, idleHosts = 256 }: State) {
  if (hosts.size <= idleHosts) return
  for (const [key, { agent, active }] of hosts) {
    if (active > 0) continue
    agent.destroy()
    hosts.delete(key)
    if (hosts.size <= idleHosts) return
  }
}

/** A kept connection was closed before any part of the response came. */
class StaleConnection extends Error {}

function sendOnce(
  state: State,
  agent: HttpAgent | HttpsAgent | undefined,
  url: URL,
  { method, headers, body, timeoutMs }: SafeRequest,
): Promise<number> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((done, fail) => {
    const outgoing = request(url, {
      method,
      headers: { 'user-agent': 'waypost', 'content-length': String(Buffer.byteLength(body)), ...headers },
      agent: agent ?? false,
      ...(state.ca !== undefined && { ca: state.ca }),
      lookup: (_host, { all }, answer) =>
        void resolveAddress(url, state).then(
          (target) => (all ? answer(null, [target]) : answer(null, target.address as never, target.family as never)),
          (error) => answer(error, '' as never, 0 as never),
        ),
      maxHeaderSize: 16 * 1024,
    })
    const timer = setTimeout(
      () => outgoing.destroy(new Error(`no response headers within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      const isStale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      fail(isStale ? new StaleConnection() : error)
    })
    outgoing.on('response', (response) => {
      clearTimeout(timer)
      done(response.statusCode ?? 0)
      discardBody(outgoing, response)
    })
    outgoing.end(body)
  })
}

/** Reads a short body to its end, so that the connection can be used again. */
function discardBody(outgoing: ClientRequest, response: IncomingMessage) {
  let bytes = 0
  const timer = setTimeout(() => outgoing.destroy(), bodyMs).unref()
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > bodyBytesMax) outgoing.destroy()
  })
  response.on('error', () => {})
  response.on('close', () => clearTimeout(timer))
}
