/**
 * Identifies processes, so that a command sees whether another command on the same machine still runs. It works on Linux; on other systems
 * nothing is known about other processes.
 */
import { readFileSync, readlinkSync } from 'node:fs'

/** Returns the identity of this process: the boot id of the machine, the PID namespace, the PID, and the start time of the process. */
export function thisProcess(): string | undefined {
  const machine = thisMachine()
  return machine === undefined ? undefined : [...machine, process.pid, startTimeOf(process.pid)].join(' ')
}

/** Returns whether a process is known to have ended. Returns false for processes of other machines and containers. */
export function hasEnded(identity: string | undefined): boolean {
  const machine = thisMachine()
  if (identity === undefined || machine === undefined) return false
  const [boot, namespace, pid, startTime] = identity.split(' ')
  if (boot !== machine[0] || namespace !== machine[1] || !/^[1-9]\d*$/.test(pid ?? '')) return false
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Another process can have the same id by now.
  const present = startTimeOf(Number(pid))
  return present !== undefined && present !== startTime
}

function thisMachine(): [string, string] | undefined {
  try {
    return [readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), readlinkSync('/proc/self/ns/pid')]
  } catch {
    return undefined
  }
}

/** Returns when a process started, or undefined if the system does not show it. For a zombie, the result differs from every start time. */
function startTimeOf(pid: number): string | undefined {
  try {
    // The name of the program, in parentheses, can contain spaces. The state is the first field after it, the time of the start the 20th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return fields[0] === 'Z' ? 'ended' : fields[19]
  } catch {
    return undefined
  }
}
