/** Sends requests to the API at a steady rate while devices reconnect. */
import { sleep } from '../../src/kernel/clock.ts'
import { openHttpConnection } from '../register/http-connection.ts'
import { quantile } from '../register/measure.ts'

export interface Probe {
  /** Stops the probe and returns its result. */
  stop(): Promise<{ requests: number; p99Ms: number; slowestMs: number }>
}

const everyMs = 20
const connectionCount = 16

/** Starts the probe. The latency of a request is measured from its due time, even if it had to wait for a free connection. */
export async function startProbe(baseUrl: string, path: string, token: string): Promise<Probe> {
  const free = await Promise.all(Array.from({ length: connectionCount }, () => openHttpConnection(baseUrl)))
  const all = [...free]
  const latencies: number[] = []
  const due: number[] = []
  const failures: Error[] = []
  let pending = 0
  const next = () => {
    while (due.length > 0 && free.length > 0) {
      const [connection, since] = [free.pop()!, due.shift()!]
      pending++
      connection
        .ask('GET', path, token)
        .then(() => void latencies.push(performance.now() - since))
        .catch((error: Error) => void failures.push(error))
        .finally(() => {
          pending--
          free.push(connection)
          next()
        })
    }
  }
  const pace = setInterval(() => {
    due.push(performance.now())
    next()
  }, everyMs)
  return {
    async stop() {
      clearInterval(pace)
      while (pending > 0 || due.length > 0) await sleep(5)
      for (const connection of all) connection.close()
      if (failures[0]) throw failures[0]
      return { requests: latencies.length, p99Ms: quantile(latencies, 0.99), slowestMs: Math.max(...latencies) }
    },
  }
}
