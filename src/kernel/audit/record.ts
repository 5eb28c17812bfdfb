/** The record of the audit log. Secrets in its path are hidden. */

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

/** An audit record that is written by a statement that several requests share. */
export interface ClaimedRecord {
  record: AuditRecord
  /**
   * Reports the outcome of the statement, with the path under which it has stored the record. If the path is
   * undefined, the record still has to be written.
   */
  settle(storedResource: string | null | undefined): void
}

const textMax = 1024
/** Shortens a long text, and removes NUL and lone surrogates, which PostgreSQL cannot store. */
export function storable(text: string | undefined | null): string | null {
  if (text === undefined || text === null) return null
  if (text.length <= textMax && !text.includes('\0') && text.isWellFormed()) return text
  return text.slice(0, textMax).replaceAll('\0', '').toWellFormed()
}

const hidden = '***'
/** Matches path parameters that are secrets or contain one. The ids of tokens, keys and secrets are not secret. */
const secretParameter = /(token|secret|password|key)$/i

/** A literal part of a path, or the name of a parameter. */
type PathPart = string | { name: string }

const pathParts = new Map<string, PathPart[]>()

function partsOf(path: string): PathPart[] {
  let parts = pathParts.get(path)
  if (!parts) {
    parts = path
      .split(/:(\w+)/)
      .map((text, index) => (index % 2 === 0 ? text : secretParameter.test(text) ? hidden : { name: text }))
    pathParts.set(path, parts)
  }
  return parts
}

/** Fills the path of a route with its parameters, except secrets. */
export function resourceOf(path: string, params: Record<string, unknown>): string {
  let resource = ''
  for (const part of partsOf(path))
    resource += typeof part === 'string' ? part : encodeURIComponent(String(params[part.name] ?? ''))
  return resource
}

/** Path of a created object from the `Location` header, without its query. */
export function resourceOfLocation(location: unknown): string | undefined {
  if (typeof location !== 'string' || location === '') return undefined
  return URL.parse(location, 'http://localhost')?.pathname
}

/** Returns the names of the body's fields that the schema declares. Other names are data of users. */
export function declaredFields(shape: unknown, body: unknown): string[] | null {
  const { properties } = (shape ?? {}) as { properties?: Record<string, unknown> }
  if (!properties || typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const fields = Object.keys(properties).filter((name) => Object.hasOwn(body, name))
  return fields.length > 0 ? fields : null
}
