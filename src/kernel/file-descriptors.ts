/**
 * Divides the file descriptors of the process into three shares: a reserve for the database, files and the program itself, one share for
 * HTTP connections, and one for MQTT. Node.js drops connections silently when no descriptor is free, so a probe opens a file every second
 * to detect this.
 */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { monotonicMs } from './clock.ts'
import type { Log } from './log.ts'
import { createLogLimit } from './log-limit.ts'
import {
  acceptFailed,
  addressEviction,
  addressRefusal,
  descriptorsExhausted,
  totalEviction,
  totalRefusal,
} from './log-messages.ts'
import type { Metrics } from './metrics.ts'

export type Listener = 'http' | 'mqtt'

/** The connections of one protocol. The code that accepts connections keeps `open` up to date. */
export interface ConnectionShare {
  /** Maximum number of open connections. */
  readonly max: number
  /** Default for the maximum number of connections from one address. */
  readonly perAddress: number
  open: number
  /** Counts a refused connection. Logs it too, at most every ten seconds for each reason. */
  refused(reason: 'total' | 'address', address: string): void
  /** Counts a connection that was closed to make room for a new connection, and logs it, at most every ten seconds for each reason. */
  evicted(reason: 'total' | 'address', address: string): void
}

export interface FileDescriptors {
  readonly limit: number
  readonly reserve: number
  readonly http: ConnectionShare
  readonly mqtt: ConnectionShare
  /** Counts and logs an error of `accept`; the server continues. */
  acceptFailed(listener: string, error: Error): void
  /** Probes for a free descriptor every second until the returned function is called. */
  watch(): () => void
  /** Health check: throws if descriptors are exhausted, or were within the last ten seconds. */
  check(): Promise<Record<string, unknown>>
}

const reserveMin = 96
const reserveMax = 4096
const httpShare = 1 / 4
const addressShare = 1 / 4
const addressMin = 8
/** Maximum of the limit that is used, even if the limit of the process is higher or unlimited. A process cannot serve more sockets. */
const limitMax = 1_048_576
const probeEveryMs = 1000
const unhealthyMs = 10_000

/** Returns how many descriptors this process may open. Node.js raises the soft limit to the hard limit when it starts. */
export function readDescriptorLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return Math.min(limitMax, soft === undefined ? limitMax : Number(soft))
  } catch {
    // Systems such as macOS have no /proc.
    const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } }
    const soft = Number(report.userLimits?.open_files?.soft)
    return Math.min(limitMax, Number.isFinite(soft) ? soft : limitMax)
  }
}

export interface Shares {
  limit: number
  reserve: number
  http: number
  mqtt: number
}

/**
 * Divides the descriptors. If no numbers are configured (0 or absent), HTTP gets a quarter of the unreserved descriptors and MQTT the rest.
 */
export function shareDescriptors(limit: number, configured: Partial<Record<Listener, number>> = {}): Shares {
  const reserve = Math.min(reserveMax, Math.max(reserveMin, Math.floor(limit / 8)))
  const available = limit - reserve
  const http =
    configured.http || Math.max(1, Math.min(Math.floor(available * httpShare), available - (configured.mqtt ?? 0)))
  const mqtt = configured.mqtt || available - http
  if (http < 1 || mqtt < 1 || http + mqtt > available)
    throw new Error(
      `WAYPOST_HTTP_CONNECTIONS (${http}) and WAYPOST_MQTT_CONNECTIONS (${mqtt}) do not fit: the process may open ${limit} file ` +
        `descriptors, of which ${reserve} are reserved; raise the limit (ulimit -n) or lower the settings`,
    )
  return { limit, reserve, http, mqtt }
}

export function createFileDescriptors(options: {
  limit?: number
  configured?: Partial<Record<Listener, number>>
  log: Log
  metrics: Metrics
}): FileDescriptors {
  const { log, metrics } = options
  const shares = shareDescriptors(options.limit ?? readDescriptorLimit(), options.configured)
  const { limit, reserve } = shares
  const exhaustions = metrics.counter(
    'waypost_file_descriptors_exhausted_total',
    'Number of times that no file descriptor was free, for a new connection or for the probe that runs every second.',
    ['listener'],
  )
  let exhaustedAt = Number.NEGATIVE_INFINITY

  const { http, mqtt } = createConnectionShares(shares, log, metrics)
  metrics.gauge('waypost_connections_open', 'Number of open connections, by listener.', ['listener'], (gauge) => {
    gauge.set({ listener: 'http' }, http.open)
    gauge.set({ listener: 'mqtt' }, mqtt.open)
  })
  metrics.gauge(
    'waypost_connections_max',
    'Maximum number of open connections, by listener.',
    ['listener'],
    (gauge) => {
      gauge.set({ listener: 'http' }, http.max)
      gauge.set({ listener: 'mqtt' }, mqtt.max)
    },
  )

  const logExhausted = createLogLimit()
  function recordExhaustion(listener: string, error: Error) {
    exhaustedAt = monotonicMs()
    exhaustions.inc({ listener })
    logExhausted((times) =>
      descriptorsExhausted(log, { err: error, listener, limit, times, http: http.open, mqtt: mqtt.open }),
    )
  }

  function probe() {
    try {
      closeSync(openSync('/dev/null', 'r'))
    } catch (error) {
      if (isExhaustion(error)) recordExhaustion('probe', error)
    }
  }

  return {
    limit,
    reserve,
    http,
    mqtt,
    acceptFailed(listener, error) {
      if (isExhaustion(error)) recordExhaustion(listener, error)
      else acceptFailed(log, { err: error, listener })
    },
    watch() {
      const timer = setInterval(probe, probeEveryMs).unref()
      return () => clearInterval(timer)
    },
    async check() {
      probe()
      const ago = monotonicMs() - exhaustedAt
      if (ago < unhealthyMs)
        throw new Error(
          `no file descriptor of ${limit} was free ${Math.round(ago / 1000)} s ago; connections were dropped`,
        )
      const summaryOf = ({ open, max }: ConnectionShare) => ({ open, max })
      return { limit, reserve, http: summaryOf(http), mqtt: summaryOf(mqtt) }
    },
  }
}

/** Creates the shares of both protocols and their metrics. */
function createConnectionShares(shares: Shares, log: Log, metrics: Metrics): Record<Listener, ConnectionShare> {
  const refusals = metrics.counter(
    'waypost_connections_refused_total',
    'Number of new connections closed because a connection limit was reached, by listener and reason.',
    ['listener', 'reason'],
  )
  const evictions = metrics.counter(
    'waypost_connections_evicted_total',
    'Number of idle or unauthenticated connections closed to make room for new connections, by listener and reason.',
    ['listener', 'reason'],
  )
  function createShare(listener: Listener, max: number): ConnectionShare {
    const logRefusals = { total: createLogLimit(), address: createLogLimit() }
    const logEvictions = { total: createLogLimit(), address: createLogLimit() }
    return {
      max,
      perAddress: Math.min(max, Math.max(addressMin, Math.floor(max * addressShare))),
      open: 0,
      refused(reason, address) {
        refusals.inc({ listener, reason })
        logRefusals[reason]((refused) => {
          const message = reason === 'total' ? totalRefusal : addressRefusal
          message(log, { listener, address, refused, open: this.open, max })
        })
      },
      evicted(reason, address) {
        evictions.inc({ listener, reason })
        logEvictions[reason]((evicted) => {
          const message = reason === 'total' ? totalEviction : addressEviction
          message(log, { listener, address, evicted, open: this.open, max })
        })
      },
    }
  }
  return { http: createShare('http', shares.http), mqtt: createShare('mqtt', shares.mqtt) }
}

/** True at the limit of the process (EMFILE) or of the system (ENFILE). */
const isExhaustion = (error: unknown): error is Error =>
  ['EMFILE', 'ENFILE'].includes(String((error as NodeJS.ErrnoException).code))
