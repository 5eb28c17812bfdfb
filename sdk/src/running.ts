/** A call in progress, and its time limits. */
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
  credentials: Credentials
  defaults: Options
}

/** Calls an operation. */
export type Send = (transport: Transport, operation: Operation, args: Arguments, options: Options) => Promise<Answer>

/** A call in progress. */
export interface Running {
  transport: Transport
  operation: Operation
  args: Arguments
  options: Options
  address: string
  repeatable: boolean
  attempts: number
  deadline: number
}

const defaultAttemptTimeoutMs = 20_000

/** Returns how long the operation waits for a device, in milliseconds. The caller sets this time in seconds, as `awaitTimeout`. */
export const waitMsOf = ({ awaitTimeout }: Arguments) => (typeof awaitTimeout === 'number' ? awaitTimeout * 1000 : 0)

/** Ends an attempt when its time is over or the caller cancels it. */
export interface Limit {
  signal: AbortSignal
  aborted(): boolean
  /** Stops the clock. The signal of the caller can still end the attempt. */
  stopClock(): void
  /** Starts the clock again: the attempt ends if no data arrives within its time limit. */
  restartClock(): void
  end(): void
}

export function createLimit({ options, args, deadline }: Running): Limit {
  const controller = new AbortController()
  const { signal } = options
  const cancel = () => controller.abort(signal?.reason)
  if (signal?.aborted) cancel()
  else signal?.addEventListener('abort', cancel, { once: true })
  const attemptMs = options.attemptTimeoutMs ?? defaultAttemptTimeoutMs + waitMsOf(args)
  const clock: Clock = {
    at: 0,
    expire: () => controller.abort(new DOMException('The time limit has passed', 'TimeoutError')),
  }
  const stopClock = () => stop(clock)
  if (deadline !== Number.POSITIVE_INFINITY) start(clock, Math.min(attemptMs, deadline - Date.now()))
  return {
    signal: controller.signal,
    aborted: () => signal?.aborted === true,
    stopClock,
    restartClock: () => start(clock, attemptMs),
    end() {
      stopClock()
      signal?.removeEventListener('abort', cancel)
    },
  }
}

interface Clock {
  /** The time of `performance.now()` at which the clock expires. */
  at: number
  expire(): void
}

/** The clocks that run. One timer serves all of them, because a timer for each attempt takes several percent of the time of a request. */
const clocks = new Set<Clock>()
let timer: ReturnType<typeof setTimeout> | undefined
let timerAt = 0

function start(clock: Clock, ms: number) {
  stop(clock)
  if (ms >= 2 ** 31) return
  clock.at = performance.now() + Math.max(0, ms)
  clocks.add(clock)
  if (timer === undefined || clock.at < timerAt) setTimer(clock.at)
  else if (clocks.size === 1) hold(timer, true)
}

function stop(clock: Clock) {
  // Without clocks, the timer does not keep a program running. Setting it again for the next attempt would take longer.
  if (clocks.delete(clock) && clocks.size === 0) hold(timer, false)
}

function setTimer(at: number) {
  clearTimeout(timer)
  timerAt = at
  timer = setTimeout(expireClocks, Math.max(0, at - performance.now()))
}

function expireClocks() {
  timer = undefined
  let next = Number.POSITIVE_INFINITY
  for (const clock of clocks)
    if (clock.at > performance.now() + 1) next = Math.min(next, clock.at)
    else {
      clocks.delete(clock)
      clock.expire()
    }
  if (next !== Number.POSITIVE_INFINITY) setTimer(next)
}

/** Decides whether a timer keeps a Node.js program running. Browsers have no such choice. */
function hold(waiting: unknown, isHeld: boolean) {
  const { ref, unref } = (waiting ?? {}) as { ref?(): void; unref?(): void }
  ;(isHeld ? ref : unref)?.call(waiting)
}
