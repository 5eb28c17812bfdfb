import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'

export type Log = Logger

/** Where secrets could be by accident; pino replaces them before a line is written. */
const secretPaths = ['password', 'secret', 'token', 'authorization', 'key'].flatMap((name) => [name, `*.${name}`])

/** JSON lines, or readable ones on a terminal. Made in process: a worker for logs costs more memory than it saves time. */
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
