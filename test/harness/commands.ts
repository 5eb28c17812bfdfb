/**
 * Runs commands of the program in one shared process, because loading the modules takes ten times as long as most commands.
 * Tests that check whether the process exits by itself use `runCommand` (platform.ts).
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { afterAllTests } from './database.ts'
import { environmentOf } from './platform.ts'

export interface CommandRequest {
  args: string[]
  environment: Record<string, string>
}

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

/** Starts the process and returns a function that runs a command in it. The process ends after the tests of the file. */
export function openCommands() {
  const host = fork(resolve(import.meta.dirname, 'command-host.ts'))
  const ended = once(host, 'close').then(([code, signal]) => {
    throw new Error(`the command process ended: ${code ?? signal}`)
  })
  ended.catch(() => {})
  afterAllTests(() => void host.disconnect())
  let last: Promise<unknown> = Promise.resolve()

  async function run(request: CommandRequest): Promise<CommandResult> {
    host.send(request)
    const [result] = (await Promise.race([once(host, 'message'), ended])) as [CommandResult]
    return result
  }

  return (args: string[], options: { directory: string; environment?: Record<string, string> }) => {
    const environment = environmentOf(options.directory, options.environment) as Record<string, string>
    const result = last.then(() => run({ args, environment }))
    last = result.catch(() => {})
    return result
  }
}
