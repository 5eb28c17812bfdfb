/** Recognizes errors from PostgreSQL and from connections. */
import { DatabaseError } from 'pg'

/** A connection was lost, could not be opened, or did not become free in time. `code` starts with `CONNECTION_`. */
export class ConnectionError extends Error {
  readonly code: string
  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** A wrong use of the database module, such as a transaction inside a transaction. */
export class DatabaseUseError extends Error {}

export const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

/** Returns whether a unique constraint rejected the statement. */
export const isUniqueViolation = (error: unknown, constraint?: string) =>
  error instanceof DatabaseError &&
  error.code === '23505' &&
  (constraint === undefined || error.constraint === constraint)

/** Returns whether a row refers to a tenant that does not exist any more: the tenant was deleted while the request was running. */
export const isTenantMissing = (error: unknown) =>
  error instanceof DatabaseError && error.code === '23503' && error.constraint?.endsWith('_tenant_id_fkey') === true

/** Returns whether PostgreSQL canceled the statement: at its time limit, or because an administrator canceled it. */
export const isStatementCanceled = (error: unknown) => codeOf(error) === '57014'

/** Returns whether the server rejects writes: it is a standby, or was made read-only. */
export const isReadOnly = (error: unknown) => codeOf(error) === '25006'

/** Thrown by work that cannot continue in its transaction but can succeed in a new transaction. `tx` repeats the work. */
export class TransactionConflictError extends Error {}

/**
 * Returns whether a transaction can be repeated: PostgreSQL reported a deadlock or a serialization failure, or the work threw a
 * TransactionConflictError.
 */
export const isTransactionConflict = (error: unknown) => {
  const code = codeOf(error)
  return code === '40P01' || code === '40001' || error instanceof TransactionConflictError
}

/** Returns whether the statement was ignored because an earlier statement of the transaction failed. */
export const isAborted = (error: unknown) => codeOf(error) === '25P02'

/** Returns whether the prepared statement no longer exists or its tables have changed. In both cases, the statement was not executed. */
export const isStalePlan = (error: unknown) =>
  error instanceof DatabaseError &&
  (error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery'))

const temporary = new Set([
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

/** Returns whether the database is unreachable, read-only or too slow at the moment. HTTP callers get 503 instead of 500. */
export const isDatabaseUnavailable = (error: unknown) => {
  const code = codeOf(error)
  return code !== undefined && (code.startsWith('CONNECTION_') || temporary.has(code))
}

/** Returns whether the server is out of disk space, memory or another resource. The statement had no effect then. */
export const isExhausted = (error: unknown) => error instanceof DatabaseError && error.code?.startsWith('53') === true
