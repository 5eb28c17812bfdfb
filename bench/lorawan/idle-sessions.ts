/** Process of the bench: opens idle sessions and reports the memory of each, in kilobytes, after garbage collection. */
import { sleep } from '../../src/kernel/clock.ts'
import { createSemaphore } from '../../src/kernel/concurrency-limit.ts'
import { startSession } from '../../src/services/lorawan/session/session.ts'

const [port = 0, count = 0] = process.argv.slice(2).map(Number)
const warmUp = 100
/** Maximum number of sessions that are being opened at the same time, as in the platform. */
const limited = createSemaphore(50)
let connected = 0

const open = (n: number) =>
  startSession({
    address: { host: '127.0.0.1', port, isTls: false },
    clientId: `waypost-idle-${n}`,
    username: `process-${n}@ttn`,
    password: 'NNSXS.SECRET-KEY.ABCDEF',
    allowPrivate: true,
    startsClean: false,
    mayConnect: async () => true,
    limited,
    changed() {},
    cleaned: async () => {},
    handle: async () => {},
    connected: () => void connected++,
  })

async function measured(connectedMin: number): Promise<number> {
  while (connected < connectedMin) await sleep(20)
  for (let n = 0; n < 5; n++) {
    // A last-resort collection returns free pages to the operating system, as V8 does after a long idle time.
    await globalThis.gc!({ type: 'major', execution: 'async', flavor: 'last-resort' })
    await sleep(100)
  }
  return process.memoryUsage().rss
}

const sessions = Array.from({ length: warmUp }, (_, n) => open(n))
const before = await measured(warmUp)
for (let n = 0; n < count; n++) sessions.push(open(warmUp + n))
const after = await measured(warmUp + count)
process.stdout.write(String((after - before) / 1024 / count))
process.exit(0)
