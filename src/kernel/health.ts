/** The management listener: health and metrics, on the loopback address only. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { noProxy } from './client-address.ts'
import { monotonicMs } from './clock.ts'
import { createConnectionLimit } from './http/connections.ts'
import type { Metrics } from './metrics.ts'

export interface HealthCheck {
  name: string
  /** Throws if the check fails. The returned object is shown as `detail`. */
  check(): Promise<Record<string, unknown> | undefined>
}

export interface Management {
  url: string
  setReady(checks: HealthCheck[]): void
  setStopping(): void
  report(): Promise<HealthReport>
  serveMetrics(metrics: Metrics): void
  onAcceptError(listener: (error: Error) => void): void
  close(): Promise<void>
}

export interface HealthReport {
  status: 'starting' | 'ready' | 'failing' | 'stopping'
  checks: { name: string; ok: boolean; problem?: string; ms: number; detail?: Record<string, unknown> }[]
}

/** Maximum number of connections. They use reserved file descriptors. At the limit, the oldest idle connection is closed. */
const connectionsMax = 32

export async function openManagement(port: number): Promise<Management> {
  let phase: 'starting' | 'ready' | 'stopping' = 'starting'
  let checks: HealthCheck[] = []
  let metrics: Metrics | undefined
  let acceptFailed: ((error: Error) => void) | undefined

  async function report(): Promise<HealthReport> {
    if (phase !== 'ready') return { status: phase, checks: [] }
    const results = await Promise.all(checks.map(runCheck))
    return { status: results.every(({ ok }) => ok) ? 'ready' : 'failing', checks: results }
  }

  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0]
    const send = (status: number, type: string, text: string) =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
    try {
      if (!isLoopback(request.headers.host))
        send(403, 'text/plain', 'The Host header must be a loopback name or address\n')
      else if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'text/plain', 'GET only\n')
      else if (path === '/health/live') send(200, 'application/json', JSON.stringify({ status: 'live' }))
      else if (path === '/health/ready' || path === '/health') {
        const health = await report()
        send(health.status === 'ready' ? 200 : 503, 'application/json', JSON.stringify(health))
      } else if (path === '/metrics' && metrics) send(200, metrics.contentType, await metrics.text())
      else send(404, 'text/plain', 'There are /health/live, /health/ready and /metrics\n')
    } catch (error) {
      send(500, 'text/plain', `${(error as Error).message}\n`)
    }
  })
  const share = { max: connectionsMax, open: 0, refused() {}, evicted() {} }
  createConnectionLimit({ share, perAddress: connectionsMax }, noProxy)(server)
  await listen(server, port)
  server.on('error', (error) => acceptFailed?.(error))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setReady(healthChecks) {
      checks = healthChecks
      phase = 'ready'
    },
    setStopping() {
      phase = 'stopping'
    },
    report,
    onAcceptError(listener) {
      acceptFailed = listener
    },
    serveMetrics(registry) {
      metrics = registry
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Returns whether a Host header names this machine. Without this check, a web page could use DNS rebinding to reach the listener under its
 * own host name.
 */
function isLoopback(host = ''): boolean {
  const name = host.replace(/:\d{1,5}$/, '').toLowerCase()
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name)
}

async function runCheck({ name, check }: HealthCheck) {
  const started = monotonicMs()
  const ms = () => Math.round(monotonicMs() - started)
  try {
    const detail = await Promise.race([check(), timeout(2000)])
    return { name, ok: true, ms: ms(), ...(detail && { detail }) }
  } catch (error) {
    return { name, ok: false, problem: (error as Error).message, ms: ms() }
  }
}

const timeout = (ms: number) =>
  new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms).unref())

const listen = (server: Server, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
