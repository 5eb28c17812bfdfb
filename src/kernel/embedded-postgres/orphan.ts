import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { hasProc } from './launch.ts'

/**
 * Returns an argument on the server's command line that identifies the server of exactly this directory. It contains the inode, because a
 * directory may be renamed while the server runs, and a copy of the directory contains the same postmaster.pid (README.md).
 */
export function clusterArgument(cluster: string): string {
  return `waypost.cluster=${statSync(cluster, { bigint: true }).ino}`
}

/** Stops a server that a killed platform left running. The caller holds the directory's lock, so no platform uses the server. */
export async function stopOrphan(cluster: string): Promise<void> {
  const file = join(cluster, 'postmaster.pid')
  const argument = clusterArgument(cluster)
  const pid = readPid(file)
  if (pid !== undefined && isServer(pid, argument)) {
    for (const [signal, polls] of [
      ['SIGINT', 300],
      ['SIGQUIT', 700],
    ] as const) {
      if (!isServer(pid, argument)) break
      sendSignal(pid, signal)
      for (let poll = 0; poll < polls && isServer(pid, argument); poll++) await delay(10)
    }
    if (isServer(pid, argument))
      throw new Error(
        `The PostgreSQL server of a killed platform in ${cluster} (pid ${pid}) does not stop; stop it with kill -QUIT ${pid}.`,
      )
  }
  // The server has ended. If another process has its pid now, PostgreSQL would mistake that process for the server. If the server still
  // runs after all, PostgreSQL refuses to start, because the shared memory of the directory is in use.
  rmSync(file, { force: true })
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
    return pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

function isServer(pid: number, argument: string): boolean {
  return commandLine(pid).includes(argument)
}

/** Returns the arguments of a process; none for a zombie. */
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

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

/** Returns the pids of the server's processes, the main one first. */
export function processTree(pid: number): number[] {
  try {
    const children = hasProc
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
      : execFileSync('/usr/bin/pgrep', ['-P', String(pid)], { encoding: 'utf8' }).split('\n')
    return [pid, ...children.map(Number).filter((child) => child > 0)]
  } catch {
    return [pid]
  }
}
