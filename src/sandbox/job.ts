import type { Limits } from './limits.ts'
import type { Script } from './machine.ts'
import type { NextContext, NextOutcome } from './protocol.ts'
import type { Queueable } from './queue.ts'

/** Answers the call of a host function with a value that can be written as JSON. The arguments come from the script and must be checked. */
export type HostCall = (name: string, args: unknown[], signal: AbortSignal) => Promise<unknown>

/** Thrown by a host call to reject it. The script gets the message. Other errors are reported, but hidden from the script. */
export class CallRejected extends Error {
  override readonly name = 'CallRejected'
}

/** Scripts to run against one context. */
export interface Job extends Queueable {
  /** True if another script of the tenant waits for this script in a host call. */
  isNested: boolean
  /** Name of the function that creates the context, see `MachineOptions.worlds`. */
  world: string
  input: string
  keep: string[]
  limits: Limits
  scripts: Script[]
  /** Indexes of the scripts that wait in the queue. The other scripts of the job were sent to a thread. */
  pending: number[]
  call: HostCall | undefined
  /** Present if the second script depends on the result of the first. */
  next: NextContext | undefined
  settle: { resolve(outcome: NextOutcome): void; reject(error: Error): void }[]
}
