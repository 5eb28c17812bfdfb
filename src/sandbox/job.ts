import type { Limits } from './limits.ts'
import type { Script } from './machine.ts'
import type { NextContext, NextOutcome } from './protocol.ts'
import type { Queueable } from './queue.ts'

/** Answers the call of a host function with a value that has JSON. The arguments come from the script: check them. */
export type HostCall = (name: string, args: unknown[], signal: AbortSignal) => Promise<unknown>

/** Thrown by a host call to reject it; the script sees the message. Other errors are reported and hidden from the script. */
export class CallRejected extends Error {
  override readonly name = 'CallRejected'
}

/** Scripts to run against one context. */
export interface Job extends Queueable {
  /** True if another script of the tenant waits for this one, in a host call. */
  isNested: boolean
  world: string
  input: string
  keep: string[]
  limits: Limits
  scripts: Script[]
  /** Indexes of the scripts that no thread has claimed. */
  pending: number[]
  call: HostCall | undefined
  /** Set if the second script depends on the result of the first one. */
  next: NextContext | undefined
  settle: { resolve(outcome: NextOutcome): void; reject(error: Error): void }[]
}
