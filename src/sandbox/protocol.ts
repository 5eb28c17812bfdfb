/** Messages between the pool and its worker threads. */
import type { MessagePort } from 'node:worker_threads'
import type { Limits } from './limits.ts'
import type { MachineOptions, Script } from './machine.ts'
import type { Outcome } from './outcome.ts'

/** Scripts that use the same context. */
export interface JobMessage {
  world: string
  tenantId: string
  input: string
  keep: string[]
  limits: Limits
  scripts: Script[]
  next?: NextContext | undefined
}

/** For a job of two scripts: defines whether the second script runs, and with which context. */
export interface NextContext {
  /** JSON results of the first script after which the second script does not run. */
  unless: string[]
  /**
   * Name of the last member of the input. The second script gets the value that this member of the context has after the first script.
   * `keep` must contain this name.
   */
  member: string
  /** The position in the input at which the value of this member begins. */
  valueAt: number
}

/**
 * The outcome of a script that may be the second script of a job. `NOT_RUN`: the first script failed, its result is in `unless`, or it ran
 * on another thread. `NEEDS_CALLS`: the second script called a host function, which is possible only if the caller runs this script alone.
 */
export type NextOutcome = Outcome | 'NOT_RUN' | 'NEEDS_CALLS'

/** Jobs of one tenant. Their scripts are called units, and are numbered over all jobs of the batch. */
export interface BatchMessage {
  jobs: JobMessage[]
}

export interface CallMessage {
  unit: number
  /** Number of the call in this thread. With this number, a late reply is not taken for the reply to a later call. */
  call: number
  name: string
  args: string
}

export type FromWorker =
  | { type: 'ready'; threadId: number | undefined }
  | { type: 'outcomes'; outcomes: [unit: number, outcome: NextOutcome][]; isLast: boolean }
  | ({ type: 'call' } & CallMessage)

/** `+` and JSON, or `-` and the text of an error. */
export interface CallReply {
  call: number
  reply: string
}

/** Cells of the memory that the pool and a worker thread share. */
export const cells = {
  /**
   * Number of units in the batch that the thread has claimed. The thread adds one for each unit. The pool sets `revoked` to take back the
   * rest.
   */
  claimed: 0,
  /** Number of the unit in progress plus one; 0 between batches. */
  current: 3,
  /** 1 while a unit waits for a host call. */
  waiting: 1,
  /** Set to 1 and notified when a reply to a host call was sent. */
  replied: 2,
}
export const revoked = 1 << 30

export interface WorkerData extends MachineOptions {
  shared: Int32Array<SharedArrayBuffer>
  /** The main thread's folder for compiled code, which other threads do not inherit. Undefined if the main thread has no such folder. */
  compileCache: string | undefined
  /** Receives replies to host calls. */
  replies: MessagePort
}
