import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { hasProc } from './launch.ts'

/**
 * A mark on the server's command line that only the server of this very directory carries. The inode, because a directory
 * may be renamed under a running server, and because a copy of the directory also copies postmaster.pid: its platform must
 * not stop the original's server. The command line, because /proc/<pid>/cwd of another user's process is closed to a root
 * without CAP_SYS_PTRACE, as in a container.
 */
export function markOf(cluster: string): string {
  return `waypost.cluster=${statSync(cluster, { bigint: true }).ino}`
}

/**
 * Ends a server that a killed platform left behind. Only for who holds the directory's lock: no platform is using it.
 */
export async function stopOrphan(cluster: string): Promise<void> {
  const file = join(cluster, 'postmaster.pid')
  const mark = markOf(cluster)
  const pid = pidIn(file)
  if (pid !== undefined && isServer(pid, mark)) {
    for (const [signal, patience] of [
      ['SIGINT', 300],
      ['SIGQUIT', 700],
    ] as const) {
      if (!isServer(pid, mark)) break
      send(pid, signal)
      for (let looks = 0; looks < patience && isServer(pid, mark); looks++) await delay(10)
    }
    if (isServer(pid, mark))
      throw new Error(`A PostgreSQL server left behind in ${cluster} (pid ${pid}) does not stop.`)
  }
  // The number now belongs to nobody, or to a stranger; PostgreSQL would take a stranger of the same user for a server.
  // Should the number have misled us, PostgreSQL still refuses a directory whose shared memory is in use.
  rmSync(file, { force: true })
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
    return pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

function isServer(pid: number, mark: string): boolean {
  return commandLine(pid).includes(mark)
}

/** Empty for a zombie. */
function commandLine(pid: number): string[] {
  try {
    if (hasProc) return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return execFileSync('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(' ')
  } catch {
    return []
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

/** The server's processes, itself first. */
export function family(pid: number): number[] {
  try {
    const children = hasProc
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
      : execFileSync('/usr/bin/pgrep', ['-P', String(pid)], { encoding: 'utf8' }).split('\n')
    return [pid, ...children.map(Number).filter((child) => child > 0)]
  } catch {
    return [pid]
  }
}
