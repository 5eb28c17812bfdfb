/** Runs a command in a pseudo-terminal. A key such as Ctrl-C reaches all processes of the command, as at a real terminal. */
import { spawn } from 'node:child_process'
import { afterAllTests } from './database.ts'

export const ctrlC = '\x03'

export interface Terminal {
  type(keys: string): void
  output(): string
  /** Resolves with the exit code of the command. The code is 128 + n if signal n ended the command. */
  exit: Promise<number | null>
}

/**
 * Starts the command with `script` (util-linux), which creates the terminal and returns the exit code. `exec` replaces the shell of
 * `script`, because that shell would receive the Ctrl-C too and exit with 130.
 */
export function atTerminal(command: string, environment: NodeJS.ProcessEnv): Terminal {
  const shell = { SHELL: '/bin/sh' } // the login shell of the user may be a different shell
  const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], { env: { ...environment, ...shell } })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const exit = new Promise<number | null>((done) => child.on('close', done))
  afterAllTests(() => void child.kill('SIGKILL'))
  return { type: (keys) => void child.stdin.write(keys), output: () => output, exit }
}
