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
