/** The log of the process, written with pino. */
import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'

export type Log = Logger

/** Fields that could contain secrets by mistake. pino hides their values. */
const secretPaths = ['password', 'secret', 'token', 'authorization', 'key'].flatMap((name) => [name, `*.${name}`])

/**
 * Creates a log of JSON lines, or of readable lines on a terminal. It writes in this thread: a worker thread would cost more memory than it
 * saves time.
 */
export async function createLog({
  level,
  format,
}: {
  level: string
  format: 'auto' | 'json' | 'pretty'
}): Promise<Log> {
  const options = { level, base: null, redact: { paths: secretPaths, censor: '[hidden]' } }
  const readable = format === 'pretty' || (format === 'auto' && isatty(1))
  if (!readable) return pino(options, pino.destination({ dest: 1, sync: true }))
  const { default: pretty } = await import('pino-pretty')
  return pino(
    options,
    pretty({ colorize: isatty(1), ignore: 'correlationId', translateTime: 'SYS:HH:MM:ss.l', sync: true }),
  )
}
