/** Runs a command in a pseudo-terminal, where keys such as Ctrl-C reach its whole process group. */
import { spawn } from 'node:child_process'
import { afterAllTests } from './database.ts'

export const ctrlC = '\x03'

export interface Terminal {
  type(keys: string): void
  output(): string
  /** Resolves with the exit code of the command; 128 + n after signal n. */
  exit: Promise<number | null>
}

/**
 * Starts the command with `script` (util-linux), which creates the terminal and returns the exit code. `exec` replaces the shell of
 * `script`, because that shell would receive the Ctrl-C too and exit with 130.
 */
export function atTerminal(command: string, environment: NodeJS.ProcessEnv): Terminal {
  const shell = { SHELL: '/bin/sh' } // instead of the user's own shell
  const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], { env: { ...environment, ...shell } })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const exit = new Promise<number | null>((done) => child.on('close', done))
  afterAllTests(() => void child.kill('SIGKILL'))
  return { type: (keys) => void child.stdin.write(keys), output: () => output, exit }
}
