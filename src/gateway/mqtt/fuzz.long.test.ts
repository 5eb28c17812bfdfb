/** Fuzz tests. FUZZ_RUNS sets the number of runs (default: a few hundred), and FUZZ_SEED sets the seed of the random numbers. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { type Duplex, duplexPair } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { abusiveClients, destroyAll, openSocket } from '../../../test/harness/mqtt-abusive-clients.ts'
import { type Attack, attack, connectBytes, splitIntoWrites } from '../../../test/harness/mqtt-grammar.ts'
import { createOpenHost } from '../../../test/harness/open-broker.ts'
import { memoryMb } from '../../../test/harness/processes.ts'
import { sleep, systemClock } from '../../kernel/clock.ts'
import { defaultLimits } from './limits.ts'
import { createMemoryStore } from './memory-store.ts'
import { createSessions } from './sessions.ts'

const runs = Number(process.env.FUZZ_RUNS ?? 400)
const seed = Number(process.env.FUZZ_SEED ?? 20_260_101)

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function assault(stream: Duplex, one: Attack, clientId: string) {
  stream.on('error', () => {})
  stream.resume()
  if (one.version > 0) stream.write(connectBytes(one.version, clientId))
  for (const piece of splitIntoWrites(one)) {
    if (stream.destroyed) return
    stream.write(piece)
    await turn()
  }
  if (one.ending === 'end') stream.end()
  if (one.ending === 'destroy') stream.destroy()
}

test('random packets in random pieces cause no error, and no connection stays open', async () => {
  const complaints: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void complaints.push(line) })
  const host = createOpenHost((key, message) => sessions.deliver(key, message))
  const sessions = createSessions(host, {
    store: createMemoryStore(defaultLimits, systemClock),
    log,
    limits: { lingerSeconds: 1 },
    offers: { sharedSubscriptions: true },
  })
  afterAllTests(() => sessions.close())
  let names = 0
  await fc.assert(
    fc.asyncProperty(fc.array(attack, { minLength: 1, maxLength: 4 }), async (attacks) => {
      const ends = await Promise.all(
        attacks.map(async (one) => {
          const [ours, theirs] = duplexPair()
          sessions.accept(ours, { transport: 'mqtt', address: 'fuzz' })
          await assault(theirs, one, `c${names++ % 7}`)
          return theirs
        }),
      )
      await turn()
      for (const stream of ends) stream.destroy()
      assert.deepEqual(complaints, [])
    }),
    { seed, numRuns: runs * 4 },
  )
  await eventually(() => assert.equal(sessions.count(), 0), { withinMs: 15_000 })
})

const harness = (file: string) => fileURLToPath(new URL(`../../../test/harness/${file}`, import.meta.url))

/** Starts a harness file as a process. `ready` is its first message; `ask` returns its answer to a message. */
async function startProcess<Ready, Answer>(file: string, parameters: string[] = []) {
  const child = fork(harness(file), parameters)
  afterAllTests(() => void child.kill())
  const next = () =>
    new Promise<unknown>((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`${file} has ended with ${code}`)))
    })
  const ready = (await next()) as Ready
  const ask = () => {
    child.send('?')
    return next() as Promise<Answer>
  }
  return { ready, ask, pid: child.pid!, isAlive: () => child.exitCode === null }
}

let names = 0
const name = (label: string) => `${label}${++names}`

async function disturb(port: number, attacks: Attack[]) {
  const kinds = Object.values(abusiveClients)
  for (const [index, one] of attacks.entries()) {
    await assault(openSocket(port), one, name('fuzz'))
    if (index % 10 === 0) kinds[(index / 10) % kinds.length]!({ port, name })
    // The test opens connections at intervals, because it does not measure how many connections the server accepts per second.
    await sleep(10)
  }
}

test('while some clients misbehave, the server serves other clients, does not crash and does not use more memory', async (t) => {
  afterAllTests(destroyAll)
  const broker = await startProcess<number, number>('watched-broker.ts')
  const probe = await startProcess<string, number[]>('mqtt-latency-probe.ts', [String(broker.ready)])
  const attacks = fc.sample(attack, { seed, numRuns: runs })
  const first = Math.ceil(runs / 4)
  // The first attacks are not measured, because the code is compiled during them.
  await disturb(broker.ready, attacks.slice(0, first))
  const before = memoryMb([broker.pid])
  await Promise.all([broker.ask(), probe.ask()])
  await disturb(broker.ready, attacks.slice(first))
  assert.ok(probe.isAlive() && broker.isAlive(), 'the attacked broker and the well-behaved client must still run')
  const [stallMs, probeAnswer] = await Promise.all([broker.ask(), probe.ask()])
  const grown = memoryMb([broker.pid]) - before
  t.diagnostic(`${probeAnswer.length} answers, longest stall ${stallMs.toFixed(1)} ms, ${grown.toFixed(0)} MB more`)
  assert.ok(probeAnswer.length > runs / 4, `the well-behaved client got only ${probeAnswer.length} acknowledgements`)
  // The test measures processor time, because elapsed time depends on other programs of the machine.
  assert.ok(stallMs < 60, `the broker was blocked for ${stallMs} ms`)
  assert.ok(grown < 100, `the memory of the broker grew by ${Math.round(grown)} MB`)
})
