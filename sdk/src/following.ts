/** Functions that all reconnecting streams share. */
import { WaypostError } from './errors.ts'

/**
 * Returns whether repeating the request is pointless, because the platform would reject it again. Rate limits and
 * network failures are temporary.
 */
export const isFinal = (error: unknown) =>
  error instanceof WaypostError &&
  (error.code === 'invalid_argument' ||
    error.code === 'login_failed' ||
    (error.status !== undefined && error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)))

/** Maximum number of delivered items that are remembered. When a stream resumes, the platform repeats the items of the last seconds. */
const knownMax = 20_000

/** Returns a function that returns true for each new key, and false for a known key. It forgets the oldest keys. */
export function createMemory(): (key: string) => boolean {
  const known = new Set<string>()
  return (key) => {
    if (known.has(key)) return false
    known.add(key)
    if (known.size > knownMax) known.delete(known.values().next().value!)
    return true
  }
}

/** Returns the key of a point. Points have no id, so a point with the same time and the same values counts as the same point. */
export const pointKeyOf = (endpointId: string, seriesName: string, timestamp: string, values: unknown) =>
  `${endpointId}\n${seriesName}\n${timestamp}\n${JSON.stringify(values)}`

export function reasonOf(data: string): string {
  try {
    const { reason } = JSON.parse(data) as { reason?: unknown }
    return typeof reason === 'string' ? reason : 'unknown'
  } catch {
    return 'unknown'
  }
}

export const sleep = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
  })
