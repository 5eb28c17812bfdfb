import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import type { Account } from './account.ts'

// The environment is fixed: HOME=/root breaks a server that runs as another user, LANG changes its messages, and PG* variables change its
// settings.
const environment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin:/usr/sbin:/sbin' }

/**
 * Returns the path by which the server opens its directory. The server's account cannot enter a path below a closed directory such as
 * /root. A process may always use its working directory, however: /proc/self/cwd (README.md).
 */
export function pathForServer(directory: string, account: Account | undefined): string {
  return account && hasProc ? '/proc/self/cwd' : directory
}

export const hasProc = existsSync('/proc/self/cwd')

/** Runs a PostgreSQL program in its own session, so that Ctrl-C in a terminal reaches the platform and not the server. */
export function launch(program: string, args: string[], cwd: string, account: Account | undefined): ChildProcess {
  const user = account ? { uid: account.uid, gid: account.gid } : {}
  return spawn(program, args, { ...user, cwd, env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Resolves with the exit code. After signal n, the code is 128 + n, as in a shell. */
export function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(
        new Error(
          `${child.spawnfile} cannot be run (${cause.message}). The embedded PostgreSQL needs a system with glibc on ` +
            'Linux; on other systems set WAYPOST_DATABASE_URL to your own PostgreSQL server.',
          { cause },
        ),
      ),
    )
    // The event is 'close' and not 'exit', because the last lines on stderr contain the reason.
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
}

export function eachLine(child: ChildProcess, onLine: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', onLine)
}

/**
 * Starts a guard that stops the server if the platform is killed. The guard is a shell that waits for the end of a pipe that only the
 * platform holds open. Without the guard, the server of a killed platform would run until the platform is started again.
 */
export function startGuard(pid: number, account: Account | undefined): ChildProcess {
  const user = account ? { uid: account.uid, gid: account.gid } : {}
  const script = 'read -r line; kill -INT "$0"'
  const shell = spawn('/bin/sh', ['-c', script, String(pid)], {
    ...user,
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
