/** Sends requests at a steady rate from a separate process, so that the work of the simulated devices does not delay the requests. */
import { openHttpConnection } from '../register/http-connection.ts'

const [baseUrl, token, endpoints] = process.argv.slice(2) as [string, string, string]
const everyMs = 10
const connectionCount = 32
const free = await Promise.all(Array.from({ length: connectionCount }, () => openHttpConnection(baseUrl)))
const due: number[] = []
let durations: number[] = []
let pending = 0

/**
 * Sends the requests that are due. The latency of a request is measured from its due time, even if all connections were busy at that time.
 */
function next() {
  while (due.length > 0 && free.length > 0) {
    const [connection, since] = [free.pop()!, due.shift()!]
    pending++
    const path = `/epr/api/v1/endpoints/bench-${Math.floor(Math.random() * Number(endpoints))}`
    void connection.ask('GET', path, token).then(() => {
      durations.push(performance.now() - since)
      pending--
      free.push(connection)
      next()
    })
  }
}

let pace: NodeJS.Timeout | undefined
process.on('message', async (order: 'start' | 'stop') => {
  if (order === 'start') {
    durations = []
    pace = setInterval(() => {
      due.push(performance.now())
      next()
    }, everyMs)
    return process.send!('started')
  }
  clearInterval(pace)
  while (pending > 0) await new Promise((resolve) => setTimeout(resolve, 2))
  process.send!(durations)
})
process.on('disconnect', () => process.exit())
process.send!('ready')
