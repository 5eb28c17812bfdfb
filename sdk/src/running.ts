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
  const ms = Math.min(attemptMs, deadline - Date.now())
  const expire = () => controller.abort(new DOMException('The time limit has passed', 'TimeoutError'))
  const start = (time: number) => (time < 2 ** 31 ? setTimeout(expire, Math.max(0, time)) : undefined)
  let timer = deadline === Number.POSITIVE_INFINITY ? undefined : start(ms)
  return {
    signal: controller.signal,
    aborted: () => signal?.aborted === true,
    stopClock: () => clearTimeout(timer),
    restartClock() {
      clearTimeout(timer)
      timer = start(attemptMs)
    },
    end() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
    },
  }
}
