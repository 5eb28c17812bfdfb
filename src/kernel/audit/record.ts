/** The record of the audit log, and what is hidden in it. */

export interface AuditActor {
  type: string
  id?: string | undefined
  name?: string | undefined
  tenantId?: string | undefined
}

export interface AuditRecord {
  id: string
  at: Date
  tenantId: string
  operation: string
  resource: string | null
  status: number | null
  actorType: string | null
  actorId: string | null
  actorName: string | null
  actorTenantId: string | null
  address: string | null
  correlationId: string | null
  fields: string[] | null
  count: number
}

/** A record that is committed with a statement of several requests. */
export interface ClaimedRecord {
  record: AuditRecord
  /**
   * Reports the outcome of the statement, with the path under which it has stored the record. If the path is
   * undefined, the record still has to be written.
   */
  settle(storedResource: string | null | undefined): void
}

const textMax = 1024
/** PostgreSQL stores neither NUL nor lone surrogates. */
export const storable = (text: string | undefined | null): string | null =>
  text === undefined || text === null ? null : text.slice(0, textMax).replaceAll('\0', '').toWellFormed()

const hidden = '***'
/** Path parameters that are or contain a secret. The ids of tokens, keys and secrets are not secret. */
const secretParameter = /(token|secret|password|key)$/i

/** Fills the path of a route with its parameters, except secrets. */
export const resourceOf = (path: string, params: Record<string, unknown>): string =>
  path.replace(/:(\w+)/g, (_, name: string) =>
    secretParameter.test(name) ? hidden : encodeURIComponent(String(params[name] ?? '')),
  )

/** Path of a created object from the `Location` header, without its query. */
export function resourceOfLocation(location: unknown): string | undefined {
  if (typeof location !== 'string' || location === '') return undefined
  return URL.parse(location, 'http://localhost')?.pathname
}

/** Returns the names of the fields that a body has and its shape declares; other names are data of users. */
export function declaredFields(shape: unknown, body: unknown): string[] | null {
  const { properties } = (shape ?? {}) as { properties?: Record<string, unknown> }
  if (!properties || typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const fields = Object.keys(properties).filter((name) => Object.hasOwn(body, name))
  return fields.length > 0 ? fields : null
}
