import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import type { Account } from './account.ts'

// Nothing of ours leaks in: HOME=/root breaks the server of another user, LANG its messages, PG* its settings.
const environment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' }

/**
 * How the server names its own directory. As root, our data directory is closed to the server's account, and so may be
 * everything above it (/root). Opening those directories is not ours to decide, and a database kept elsewhere would be
 * forgotten by whoever copies or deletes the data directory. But a process may use the directory that it stands in
 * whatever is above: Node changes into `cwd` while it is still root, and /proc/self/cwd is that directory itself, not a
 * path to it. PostgreSQL never leaves it and otherwise uses relative paths.
 */
export function nameOf(directory: string, account: Account | undefined): string {
  return account && hasProc ? '/proc/self/cwd' : directory
}

export const hasProc = existsSync('/proc/self/cwd')

/** Runs a program of PostgreSQL in a session of its own, so that Ctrl-C in a terminal reaches us and not the server. */
export function launch(program: string, args: string[], cwd: string, account: Account | undefined): ChildProcess {
  const as = account ? { uid: account.uid, gid: account.gid } : {}
  return spawn(program, args, { ...as, cwd, env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Resolves at the end with the exit code; 128 + n after signal n, as a shell would say. */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(
        new Error(
          `${child.spawnfile} cannot be run (${cause.message}). The embedded PostgreSQL needs a system with glibc on ` +
            'Linux; otherwise name a server of your own in WAYPOST_DATABASE_URL.',
          { cause },
        ),
      ),
    )
    // 'close', not 'exit': the last lines on stderr say why.
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
}

export function eachLine(child: ChildProcess, see: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', see)
}

/**
 * Stops the server if we die without a word (kill -9): a shell waits for the end of a pipe that only we hold open.
 * The next start copes without it; this keeps servers without a platform from piling up until then.
 */
export function guard(pid: number, account: Account | undefined): ChildProcess {
  const as = account ? { uid: account.uid, gid: account.gid } : {}
  const script = 'read -r line; kill -INT "$0"'
  const shell = spawn('/bin/sh', ['-c', script, String(pid)], {
    ...as,
    cwd: '/',
    env: environment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.on('error', () => {})
  shell.stdin?.on('error', () => {})
  shell.unref()
  return shell
}
