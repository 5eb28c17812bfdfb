/** Decides which requests are sent again, and when. */
import type { Operation, Options } from './types.ts'

const repeatableStatuses = new Set([408, 425, 429, 502, 503, 504])

/** Error codes of connections that were never opened. In these cases nothing was sent. */
const notConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
])

interface Caused {
  code?: unknown
  cause?: unknown
  errors?: unknown[]
}

/** Returns whether a failure of `fetch` shows that no byte of the request was sent. In browsers, no failure shows this. */
export function nothingWasSent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, cause, errors } = error as Caused
  if (Array.isArray(errors) && errors.length > 0) return errors.every(nothingWasSent)
  if (typeof code === 'string') return notConnected.has(code)
  return nothingWasSent(cause)
}

/**
 * Returns whether the request can arrive twice without harm: it changes nothing, has a condition, or the caller has declared it repeatable.
 */
export function isRepeatable({ reads }: Operation, { ifMatch, ifNoneMatch, repeatable }: Options): boolean {
  // `If-Match: *` holds for every version, so the second request would change the object again.
  return reads || repeatable === true || (ifMatch !== undefined && ifMatch !== '*') || ifNoneMatch !== undefined
}

/** Returns whether the request is sent again after a response with this status. 429 means that the platform has done nothing. */
export const isTemporary = (status: number, repeatable: boolean) =>
  status === 429 || (repeatable && repeatableStatuses.has(status))

/** Returns the seconds of `Retry-After`: a number, or a date. */
export function retryAfterOf(text: string | null, now: number): number | undefined {
  if (text === null || text === '') return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

const firstDelayMs = 100
const delayMsMax = 5_000

/** Returns the time before the next attempt: a random time up to a limit that doubles with each attempt, and at least `Retry-After`. */
export function delayMsOf(attempt: number, retryAfterSeconds: number | undefined, random: () => number): number {
  const limit = Math.min(delayMsMax, firstDelayMs * 2 ** (attempt - 1))
  if (retryAfterSeconds === undefined) return limit * random()
  return retryAfterSeconds * 1000 + Math.min(limit, 1000) * random()
}
