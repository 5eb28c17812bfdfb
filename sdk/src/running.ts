/** A call in progress, and its time limits. */
import type { WaypostError } from './errors.ts'
import type { Answer, Arguments, Operation, Options } from './types.ts'

/** Adds credentials to requests. */
export interface Credentials {
  headers(options: Options): Record<string, string> | Promise<Record<string, string>>
  /** Gets new credentials after the platform rejected the credentials `rejected`. Returns false if there are no new credentials. */
  renew(rejected: Record<string, string>, options: Options): Promise<boolean>
}

export interface Transport {
  /** Address of the platform, without a slash at the end. */
  url: string
  fetch: typeof fetch
  /** Whether `fetch` comes from the caller. */
  hasOwnFetch: boolean
  credentials: Credentials
  defaults: Options
  onRetry?: OnRetry | undefined
}

/** Called before the pause after which a request is sent again. */
export type OnRetry = (error: WaypostError, pauseMs: number) => void

/** Returns the function that sends requests: the given function, or the global one. */
export const fetchOf = (given: typeof fetch | undefined) => ({
  fetch: given ?? globalThis.fetch.bind(globalThis),
  hasOwnFetch: given !== undefined,
})

/** Calls an operation. */
export type Send = (transport: Transport, operation: Operation, args: Arguments, options?: Options) => Promise<Answer>

/** A call in progress. */
export interface Running {
  transport: Transport
  operation: Operation
  args: Arguments
  options: Options
  address: string
  /** Whether the body can be sent again. */
  canResend: boolean
  /** Whether the request can arrive twice without harm. */
  repeatable: boolean
  attempts: number
  /** The time of `performance.now()` at which the call ends. */
  deadline: number
}

const defaultAttemptTimeoutMs = 20_000

/** Returns how long the operation waits for a device, in milliseconds. The caller sets this time in seconds, as `awaitTimeout`. */
export const waitMsOf = ({ awaitTimeout }: Arguments) => (typeof awaitTimeout === 'number' ? awaitTimeout * 1000 : 0)

/** Ends an attempt when its time is over or the caller cancels it. */
export interface Limit {
  readonly controller: AbortController
  /** The signal of the caller, and `cancel`, the listener that the signal calls. */
  readonly caller: AbortSignal | undefined
  readonly cancel: (() => void) | undefined
  readonly attemptMs: number
  /**
   * Whether the timer keeps a Node.js program running: only with a `fetch` of the caller. With the global `fetch` the connection does so,
   * and calling `ref` and `unref` of the timer for each request would take 2 percent of the time of the request.
   */
  readonly isHeld: boolean
  /** The time of `performance.now()` at which the attempt ends. */
  at: number
}

export function createLimit({ transport, options, args, deadline }: Running): Limit {
  const controller = new AbortController()
  const caller = options.signal
  // The limit is an object without functions, because creating functions for each request would take a measurable part of its time.
  const cancel = caller === undefined ? undefined : () => controller.abort(caller.reason)
  if (caller?.aborted) cancel?.()
  else if (cancel !== undefined) caller?.addEventListener('abort', cancel, { once: true })
  const attemptMs = options.attemptTimeoutMs ?? defaultAttemptTimeoutMs + waitMsOf(args)
  const limit = { controller, caller, cancel, attemptMs, isHeld: transport.hasOwnFetch, at: 0 }
  if (deadline !== Number.POSITIVE_INFINITY) {
    const now = performance.now()
    startClock(limit, Math.min(now + attemptMs, deadline), now)
  }
  return limit
}

export const isCanceled = ({ caller }: Limit) => caller?.aborted === true

/** Starts the clock again: the attempt ends if no data arrives within its time limit. */
export function restartClock(limit: Limit) {
  stopClock(limit)
  const now = performance.now()
  startClock(limit, now + limit.attemptMs, now)
}

/** Stops the clock, and stops listening to the signal of the caller. */
export function endLimit(limit: Limit) {
  stopClock(limit)
  if (limit.cancel !== undefined) limit.caller?.removeEventListener('abort', limit.cancel)
}

/** The limits whose clocks run. One timer serves all of them, because a timer for each attempt takes several percent of the time of a request. */
const clocks = new Set<Limit>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerAt = 0
/** Number of clocks that keep the program running. */
let held = 0

function startClock(limit: Limit, at: number, now: number) {
  if (at - now >= 2 ** 31) return
  limit.at = Math.max(now, at)
  clocks.add(limit)
  if (limit.isHeld && held++ === 0) hold(timer, true)
  if (timer === undefined || limit.at < timerAt) setTimer(limit.at)
}

/** Stops the clock. The signal of the caller can still end the attempt. */
export function stopClock(limit: Limit) {
  // The timer stays for the next attempt, because setting it again would take longer.
  if (clocks.delete(limit) && limit.isHeld && --held === 0) hold(timer, false)
}

function setTimer(at: number) {
  clearTimeout(timer)
  timerAt = at
  timer = setTimeout(expireClocks, Math.max(0, at - performance.now()))
  if (held === 0) hold(timer, false)
}

function expireClocks() {
  timer = undefined
  let next = Number.POSITIVE_INFINITY
  // After a pause of the program several clocks expire at the same time; they end in the order of their time limits.
  for (const limit of [...clocks].sort((one, other) => one.at - other.at))
    if (limit.at > performance.now() + 1) next = Math.min(next, limit.at)
    else {
      stopClock(limit)
      limit.controller.abort(new DOMException('The time limit has passed', 'TimeoutError'))
    }
  if (next !== Number.POSITIVE_INFINITY) setTimer(next)
}

/** Decides whether a timer keeps a Node.js program running. Browsers have no such choice. */
function hold(waiting: unknown, isHeld: boolean) {
  const { ref, unref } = (waiting ?? {}) as { ref?(): void; unref?(): void }
  ;(isHeld ? ref : unref)?.call(waiting)
}
