import { setTimeout as delay } from 'node:timers/promises'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { eachLine, exitCodeOf, launch, pathForServer, startGuard } from './launch.ts'
import { logFilter } from './log.ts'
import { clusterArgument, processTree } from './orphan.ts'

export type Server = { stop(): Promise<void>; pids(): number[]; exited: Promise<number> }

type ServerOptions = {
  cluster: string
  binaries: Binaries
  account: Account | undefined
  settings: Record<string, string | number>
  log(line: string): void
}

/** Starts the server; retries while the last processes of a killed server still use its shared memory. */
export async function startServer(options: ServerOptions): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt(options)
    if (!(outcome instanceof Error)) return outcome
    if (!outcome.message.includes('is still in use') || tries === 80) throw outcome
    await delay(100)
  }
}

async function attempt({ cluster, binaries, account, settings, log }: ServerOptions): Promise<Server | Error> {
  const values = [...Object.entries(settings).map(([name, value]) => `${name}=${value}`), clusterArgument(cluster)]
  const args = ['-D', pathForServer(cluster, account), ...values.flatMap((value) => ['-c', value])]
  const child = launch(binaries.postgres, args, cluster, account)
  const exitCode = exitCodeOf(child)

  // Lines before the server is ready explain a failed start. Later lines go to the log. Lines during the stop are dropped.
  const startupLines: string[] = []
  let onLine: (line: string) => unknown = (line) => startupLines.push(line)
  const filtered = logFilter((line) => onLine(line))
  const ready = new Promise<'ready'>((resolve) => {
    eachLine(child, (line) => {
      filtered(line)
      // The server reports when it is ready, so polling is not needed.
      if (line.endsWith('database system is ready to accept connections')) resolve('ready')
    })
  })
  if ((await Promise.race([ready, exitCode])) !== 'ready') {
    return new Error(`The embedded PostgreSQL in ${cluster} did not start: ${startupLines.slice(-8).join('\n')}`)
  }
  onLine = log
  for (const line of startupLines) log(line)

  const pid = child.pid as number
  const guard = startGuard(pid, account)
  let stopping = false
  const exited = new Promise<number>((resolve) => {
    exitCode.then((code) => {
      guard.kill('SIGKILL')
      if (!stopping) resolve(code)
    })
  })
  return {
    exited,
    pids: () => (child.exitCode === null && child.signalCode === null ? processTree(pid) : []),
    async stop() {
      stopping = true
      onLine = () => {}
      for (const [signal, milliseconds] of stopSignals) {
        child.kill(signal)
        if ((await Promise.race([exitCode, delay(milliseconds, 'late', { ref: false })])) !== 'late') return
      }
    },
  }
}

// The signals mean: fast shutdown with a checkpoint; immediate shutdown, after which the next start recovers from the WAL; kill.
const stopSignals = [
  ['SIGINT', 6000],
  ['SIGQUIT', 1500],
  ['SIGKILL', 500],
] as const
