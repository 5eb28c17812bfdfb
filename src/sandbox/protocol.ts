/** Messages between the pool and its worker threads. */
import type { MessagePort } from 'node:worker_threads'
import type { Limits } from './limits.ts'
import type { MachineOptions, Script } from './machine.ts'
import type { Outcome } from './outcome.ts'

/** Scripts that run against the same context. */
export interface JobMessage {
  world: string
  tenantId: string
  input: string
  keep: string[]
  limits: Limits
  scripts: Script[]
  next?: NextContext | undefined
}

/** For a job of two scripts: when the second one runs, and with which context. */
export interface NextContext {
  /** Results of the first script, as JSON, after which the second one does not run. */
  unless: string[]
  /** The last member of the context. The second script gets its value after the first script; `keep` must have it. */
  member: string
  /** Where in the input the value of this member begins. */
  valueAt: number
}

/** `NOT_RUN`: the result of the first script excludes the second one, or the first one ran on another thread. `NEEDS_CALLS`: the script called a host function. */
export type NextOutcome = Outcome | 'NOT_RUN' | 'NEEDS_CALLS'

/** Jobs of one tenant. Their scripts are units, numbered over all jobs of the batch. */
export interface BatchMessage {
  jobs: JobMessage[]
}

export interface CallMessage {
  unit: number
  /** Number of the call in this thread, so that a late reply is not taken for the reply to a later call. */
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
  /** Number of units in the batch that the thread has claimed. It adds one for each unit; the pool sets `revoked` to take the rest back. */
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
  /** The main thread's folder for compiled code, which other threads do not inherit; undefined if there is none. */
  compileCache: string | undefined
  /** Receives replies to host calls. */
  replies: MessagePort
}
