/** Runs untrusted JavaScript under hard limits, in WebAssembly in worker threads. The README explains the guarantees. */
import { availableParallelism } from 'node:os'
import { loadEngine } from './engine.ts'
import type { HostCall, Job } from './job.ts'
import { defaultLimits, inputLength, type Limits, memoryMax, scriptLength } from './limits.ts'
import type { Script } from './machine.ts'
import type { Checked, FailureText, Outcome } from './outcome.ts'
import { createPool, type PoolStats, SandboxStopped } from './pool.ts'
import type { NextContext, NextOutcome } from './protocol.ts'

export interface SandboxOptions {
  /**
   * Worlds by name. A world is the text of a function `(input, call) => ctx` that builds the context of a script from the parsed input. The
   * function may call host functions with `call(name, ...args)`. The world `plain` returns the input.
   */
  worlds?: Record<string, string>
  /** Maximum number of threads that run short scripts at the same time. */
  active?: number
  /** Maximum number of all threads, including threads whose scripts run for long or wait for host calls. */
  threads?: number
  threadsPerTenant?: number
  /** Maximum number of threads of one tenant, including threads of nested scripts. */
  threadsWithNested?: number
  /** Memory limit for all values of a script, at most 64 MiB. */
  memoryBytes?: number
  /** Maximum number of waiting jobs of one tenant. */
  queuePerTenant?: number
  /** Called with errors of host calls and of threads, for the log. */
  onError?(error: unknown): void
}

export interface RunRequest {
  tenantId: string
  world?: string
  /** JSON text from which the world builds the context. */
  input: string
  /** Members of the context whose JSON texts are returned after the run, for the next script. */
  keep?: string[]
  limits?: Partial<Limits>
  call?: HostCall
  /** True if another script of the tenant waits for this script in a host call. */
  isNested?: boolean
}

export interface Sandbox {
  /** Runs a script. Rejects with SandboxBusy or SandboxStopped. Any failure of the script itself is an outcome. */
  run(request: RunRequest & { script: string; entry?: string }): Promise<Outcome>
  /**
   * Runs two scripts one after the other with the same context, each with fresh global objects. This takes one round trip to a thread. The
   * second script cannot call host functions. If it has not run, the caller may run it alone.
   */
  runThen(request: RunRequest & { script: string; next: NextContext & { script: string } }): {
    first: Promise<Outcome>
    next: Promise<NextOutcome>
  }
  /** Runs several scripts, each with fresh global objects. Their common context is parsed once. */
  runAll(request: RunRequest & { scripts: Script[] }): Promise<Outcome>[]
  /** Parses and compiles a script in a thread, without running it. Rejects with SandboxBusy or SandboxStopped. */
  check(request: { tenantId: string; script: string; isNested?: boolean }): Promise<Checked>
  stats(): PoolStats
  stop(): Promise<void>
}

/** The error with which a script is rejected if the queue of its tenant is full. */
export class SandboxBusy extends Error {
  override readonly name = 'SandboxBusy'
}

const mebibyte = 1024 * 1024

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const active = options.active ?? Math.max(2, availableParallelism())
  const worlds = { plain: '(input) => input', ...options.worlds }
  const pool = createPool({
    worlds,
    memoryBytes: options.memoryBytes ?? memoryMax,
    loadEngine,
    active,
    threads: options.threads ?? active + 14,
    threadsPerTenant: options.threadsPerTenant ?? 4,
    threadsWithNested: options.threadsWithNested ?? 10,
    queue: { perTenant: options.queuePerTenant ?? 1000, bytesPerTenant: 32 * mebibyte, bytesTotal: 256 * mebibyte },
    onError: options.onError ?? (() => {}),
  })
  let isStopped = false

  const runAll: Sandbox['runAll'] = (request) => start(request) as Promise<Outcome>[]

  function start(request: RunRequest & { scripts: Script[]; next?: NextContext }): Promise<NextOutcome>[] {
    const { job, outcomes } = newJob(request)
    const world = request.world ?? 'plain'
    if (!Object.hasOwn(worlds, world)) throw new Error(`there is no world ${world}`)
    const failure = problemOf(request)
    const rejectAll = (error: Error) => {
      for (const { reject } of job.settle) reject(error)
    }
    if (failure) for (const { resolve } of job.settle) resolve({ ok: false, ...failure, log: [], durationMs: 0 })
    else if (isStopped) rejectAll(new SandboxStopped('the sandbox was stopped'))
    else if (job.scripts.length > 0 && !pool.add(job))
      rejectAll(new SandboxBusy(`too many scripts of tenant ${job.tenantId} are waiting`))
    return outcomes
  }

  return {
    runAll,
    runThen({ script, next: { script: nextScript, ...next }, ...request }) {
      const [first, second] = start({ ...request, scripts: [{ text: script }, { text: nextScript }], next })
      // A caller that stops after the first script never handles this promise. Without `catch`, its rejection would end the process.
      second!.catch(() => {})
      return { first: first as Promise<Outcome>, next: second! }
    },
    run: ({ script, entry, ...request }) => runAll({ ...request, scripts: [{ text: script, entry }] })[0]!,
    async check({ tenantId, script, isNested = false }) {
      if (script.length > scriptLength) return { ok: false, ...tooLong }
      const [checking] = runAll({ tenantId, isNested, input: 'null', scripts: [{ text: script, isChecked: true }] })
      const outcome = await checking!
      return outcome.ok ? (JSON.parse(outcome.json) as Checked) : outcome
    },
    stats: pool.stats,
    stop() {
      isStopped = true
      return pool.stop()
    },
  }
}

const tooLong: FailureText = { reason: 'SYNTAX', message: `the script has more than ${scriptLength} characters` }

const identifier = /^[A-Za-z_$][\w$]*$/

function problemOf({ input, scripts }: RunRequest & { scripts: Script[] }): FailureText | undefined {
  if (input.length > inputLength)
    return { reason: 'INPUT', message: `the context has more than ${inputLength} characters of JSON` }
  if (scripts.some(({ text }) => text.length > scriptLength)) return tooLong
  const bad = scripts.find(({ entry }) => entry !== undefined && !identifier.test(entry))
  if (bad) throw new Error(`${bad.entry} is not the name of a function`)
  return undefined
}

/**
 * Caches complete limits by the limits that callers pass, so that all jobs in a message to a thread refer to the same object. A message
 * contains only one copy of an object, however many jobs refer to it.
 */
const completed = new WeakMap<Partial<Limits>, Limits>()
const keepNothing: string[] = []

function completeLimits(limits: Partial<Limits> | undefined): Limits {
  if (!limits) return defaultLimits
  let complete = completed.get(limits)
  if (!complete) {
    complete = { ...defaultLimits, ...limits }
    completed.set(limits, complete)
  }
  return complete
}

function newJob({
  tenantId,
  world = 'plain',
  input,
  keep = keepNothing,
  limits,
  call,
  isNested = false,
  scripts,
  next,
}: RunRequest & { scripts: Script[]; next?: NextContext }) {
  const deferred = scripts.map(() => Promise.withResolvers<NextOutcome>())
  const job: Job = {
    tenantId,
    isNested,
    world,
    input,
    keep,
    limits: completeLimits(limits),
    scripts,
    pending: scripts.map((_, index) => index),
    call,
    next,
    bytes: scripts.reduce((sum, { text }) => sum + text.length, input.length + 500),
    settle: deferred,
  }
  return { job, outcomes: deferred.map(({ promise }) => promise) }
}
