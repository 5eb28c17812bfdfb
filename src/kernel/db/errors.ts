import { DatabaseError } from 'pg'

/** The connection is gone, could not be opened or did not become free in time. `code` starts with `CONNECTION_`. */
export class ConnectionError extends Error {
  readonly code: string
  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** A use of the database module that can never work, such as a transaction inside a transaction. */
export class DatabaseUseError extends Error {}

export const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

/** PostgreSQL's code for "this key is taken". */
export const isUniqueViolation = (error: unknown, constraint?: string) =>
  error instanceof DatabaseError &&
  error.code === '23505' &&
  (constraint === undefined || error.constraint === constraint)

/** PostgreSQL ended the statement: its time limit passed, or an administrator canceled it. */
export const isStatementTimeout = (error: unknown) => codeOf(error) === '57014'

/** The server takes no writes: it is a standby, or was made read-only. */
export const isReadOnly = (error: unknown) => codeOf(error) === '25006'

/** Two transactions blocked each other and PostgreSQL ended one of them: nothing of it happened. */
export const isCollision = (error: unknown) => {
  const code = codeOf(error)
  return code === '40P01' || code === '40001'
}

/** The prepared statement is gone, or tables changed beneath it; nothing was executed. */
export const isStalePlan = (error: unknown) =>
  error instanceof DatabaseError &&
  (error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery'))

const passing = new Set([
  '25006',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08006',
  '08001',
  '08003',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ENOENT',
  'EPIPE',
])

/** The database is unreachable, read-only or too slow at the moment: 503, never 500. */
export const isConnectionTrouble = (error: unknown) => {
  const code = codeOf(error)
  return code !== undefined && (code.startsWith('CONNECTION_') || passing.has(code))
}

/** Out of disk, memory or other means: nothing of the statement happened. */
export const isExhausted = (error: unknown) => error instanceof DatabaseError && error.code?.startsWith('53') === true
