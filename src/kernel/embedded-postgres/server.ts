import { setTimeout as delay } from 'node:timers/promises'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { eachLine, ended, guard, launch, nameOf } from './launch.ts'
import { logFilter } from './log.ts'
import { family, markOf } from './orphan.ts'

export type Server = { stop(): Promise<void>; pids(): number[]; exited: Promise<number> }

type ServerOptions = {
  cluster: string
  binaries: Binaries
  account: Account | undefined
  settings: Record<string, string | number>
  log(line: string): void
}

/** Starts the server; once more while backends of a killed one are in their last moments. */
export async function startServer(options: ServerOptions): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt(options)
    if (!(outcome instanceof Error)) return outcome
    if (!outcome.message.includes('is still in use') || tries === 80) throw outcome
    await delay(100)
  }
}

async function attempt({ cluster, binaries, account, settings, log }: ServerOptions): Promise<Server | Error> {
  const values = [...Object.entries(settings).map(([name, value]) => `${name}=${value}`), markOf(cluster)]
  const args = ['-D', nameOf(cluster, account), ...values.flatMap((value) => ['-c', value])]
  const child = launch(binaries.postgres, args, cluster, account)
  const end = ended(child)

  // Until it is ready its words are the reason of a failure; then they are for the log; at the end they are of no interest.
  const reasons: string[] = []
  let hear: (line: string) => unknown = (line) => reasons.push(line)
  const filtered = logFilter((line) => hear(line))
  const ready = new Promise<'ready'>((resolve) => {
    eachLine(child, (line) => {
      filtered(line)
      // The server itself says when: there is nothing to poll.
      if (line.endsWith('database system is ready to accept connections')) resolve('ready')
    })
  })
  if ((await Promise.race([ready, end])) !== 'ready') {
    return new Error(`The embedded PostgreSQL in ${cluster} did not start: ${reasons.slice(-8).join('\n')}`)
  }
  hear = log
  for (const line of reasons) log(line)

  const pid = child.pid as number
  const guardian = guard(pid, account)
  let stopping = false
  const exited = new Promise<number>((resolve) => {
    end.then((code) => {
      guardian.kill('SIGKILL')
      if (!stopping) resolve(code)
    })
  })
  return {
    exited,
    pids: () => (child.exitCode === null && child.signalCode === null ? family(pid) : []),
    async stop() {
      stopping = true
      hear = () => {}
      for (const [signal, milliseconds] of stages) {
        child.kill(signal)
        if ((await Promise.race([end, delay(milliseconds, 'late', { ref: false })])) !== 'late') return
      }
    },
  }
}

// Fast (with a checkpoint), immediate (the next start replays the log instead), and what cannot be ignored.
const stages = [
  ['SIGINT', 6000],
  ['SIGQUIT', 1500],
  ['SIGKILL', 500],
] as const
