/** Process started by commands.ts: runs commands of the program in sequence and loads the modules only once. */
import type { CommandRequest, CommandResult } from './commands.ts'

// Every command adds a listener for broken pipes. Without this line, Node.js warns about more than ten listeners.
process.stdout.setMaxListeners(0)
process.stderr.setMaxListeners(0)
// Every apply listens for signals too.
process.setMaxListeners(0)

let count = 0

process.on('message', async ({ args, environment }: CommandRequest) => {
  const output = { stdout: '', stderr: '' }
  const written = { stdout: process.stdout.write, stderr: process.stderr.write }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = ((text: string | Uint8Array, ...rest: unknown[]) => {
      output[name] += String(text)
      for (const done of rest) if (typeof done === 'function') done()
      return true
    }) as typeof process.stdout.write
  process.env = environment
  process.argv = [process.argv[0]!, 'waypost', ...args]
  process.exitCode = 0
  try {
    await import(`../../src/main.ts?command=${++count}`)
  } catch (error) {
    output.stderr += `${(error as Error).stack}\n`
    process.exitCode = 1
  }
  Object.assign(process.stdout, { write: written.stdout })
  Object.assign(process.stderr, { write: written.stderr })
  process.send!({ code: Number(process.exitCode), ...output } satisfies CommandResult)
})
