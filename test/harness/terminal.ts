/** A command at a pseudo-terminal, as a person runs it: keys such as Ctrl-C reach its whole process group. */
import { spawn } from 'node:child_process'
import { afterAllTests } from './database.ts'

export const ctrlC = '\x03'

export interface Terminal {
  type(keys: string): void
  output(): string
  /** Resolves with the status of the command; 128 + n after signal n. */
  exit: Promise<number | null>
}

/**
 * `script` (util-linux) makes the terminal and passes on the status. It runs the command through a shell, which `exec`
 * replaces: a shell that stays would get the Ctrl-C as well and end with 130, whatever the command ends with.
 */
export function atTerminal(command: string, environment: NodeJS.ProcessEnv): Terminal {
  const shell = { SHELL: '/bin/sh' } // otherwise the user's own, if any
  const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], { env: { ...environment, ...shell } })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const exit = new Promise<number | null>((done) => child.on('close', done))
  afterAllTests(() => void child.kill('SIGKILL'))
  return { type: (keys) => void child.stdin.write(keys), output: () => output, exit }
}
