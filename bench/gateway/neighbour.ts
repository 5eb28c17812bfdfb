/** How long a well-behaved client waits while others misbehave, against how long it waits while nobody does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { cutAll, nuisances } from '../../test/harness/mqtt-nuisances.ts'
import { quantile } from '../register/measure.ts'
import type { Figure } from '../report.ts'
import { startCore } from './contenders.ts'
import { loadCore, onCore } from './generator.ts'
import { type Ground, versionName } from './site.ts'

const seconds = 15
/** Paced: how many connections a machine can make is not what is asked. */
const nuisanceEveryMs = 100

/** Of the gateway with an extension that does nothing; those who misbehave have a valid token too. */
export async function neighbour(ground: Ground): Promise<Figure[]> {
  const server = await startCore(ground, 'acknowledged', 'any')
  const [own, theirs] = ground.tokens.map((token) => `kp1/${versionName}/dcx/${token}/json`)
  const file = join(import.meta.dirname, '../../test/harness/mqtt-neighbour.ts')
  const [command, ...args] = onCore(loadCore, [process.execPath, file, String(server.port), own!])
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  try {
    await heard(child)
    await sleep(1000)
    const calm = await p99During(child, () => {})
    let count = 0
    const kinds = Object.values(nuisances)
    const target = { port: server.port, name: (label: string) => `${label}${count}`, topic: theirs! }
    const attacked = await p99During(child, () => kinds[count++ % kinds.length]!(target))
    if (child.exitCode !== null) throw new Error('the neighbour lost its connection')
    console.error(`a neighbour's p99: ${calm.toFixed(2)} ms, under attack ${attacked.toFixed(2)} ms`)
    return [
      { name: 'A healthy device alone: p99', value: calm, unit: 'ms' },
      { name: 'A healthy device while others misbehave: p99', value: attacked, unit: 'ms' },
      { name: 'The second against the first', value: attacked / calm, unit: 'times', limit: { most: 2 } },
    ]
  } finally {
    cutAll()
    if (child.connected) child.disconnect()
    await server.stop()
  }
}

/** Of the neighbour's answers while this is done again and again. */
async function p99During(child: ChildProcess, work: () => void): Promise<number> {
  await times(child)
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(nuisanceEveryMs)) work()
  return quantile(await times(child), 0.99)
}

/** Since the last question. */
function times(child: ChildProcess): Promise<number[]> {
  child.send('how long?')
  return heard(child) as Promise<number[]>
}

const heard = (child: ChildProcess) =>
  new Promise<unknown>((resolve, reject) => {
    const lost = () => reject(new Error('the neighbour lost its connection'))
    child.once('exit', lost)
    child.once('message', (message) => {
      child.off('exit', lost)
      resolve(message)
    })
  })
