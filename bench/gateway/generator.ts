/** Runs the load in a separate process, so that its processor time is measured separately from the processor time of the server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { ConnectOrder, ConnectResult, Period, RunOrder, RunResult } from './load.ts'

export interface Generator {
  connect(order: ConnectOrder): Promise<ConnectResult>
  run(order: RunOrder): Promise<RunResult>
  /** Called at the end of each period of a run. */
  onPeriod(listener: (period: Period) => void): void
  close(): Promise<void>
  stop(): void
}

export const serverCore = 0
export const loadCore = 1

/** Returns a command that runs on one core (or on all cores, with `any`), with the maximum number of open files. */
export const onCore = (core: number | 'any', command: string[]) => {
  const cores = core === 'any' ? `0-${availableParallelism() - 1}` : String(core)
  return ['sh', '-c', 'ulimit -n "$(ulimit -Hn)"; exec taskset -c "$0" "$@"', cores, ...command] as const
}

/** Starts the process of the load, by default on a core that the servers do not use. */
export function startGenerator(core: number | 'any' = loadCore): Generator {
  const [command, ...args] = onCore(core, [process.execPath, join(import.meta.dirname, 'load.ts')])
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const sendOrder = async <T>(message: object): Promise<T> => (await requestFrom(child, message)) as T
  return {
    connect: (connect) => sendOrder({ connect }),
    run: (run) => sendOrder({ run }),
    onPeriod: (listener) => void child.on('message', ({ period }: { period?: Period }) => period && listener(period)),
    close: () => sendOrder({ close: true }),
    stop: () => child.disconnect(),
  }
}

/** Sends a message to a child and waits for its answer. */
export function requestFrom(child: ChildProcess, message: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process of the bench ended with ${code}`))
    child.once('exit', ended)
    child.on('message', function handleAnswer(answer: { done?: unknown; failed?: string; period?: unknown }) {
      if (answer.period) return
      child.off('exit', ended)
      child.off('message', handleAnswer)
      if (answer.failed) reject(new Error(answer.failed))
      else resolve(answer.done)
    })
    child.send(message)
  })
}
