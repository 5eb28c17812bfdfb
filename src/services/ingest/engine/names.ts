/** Names of indices and fields in the search engine. */
import { createHash } from 'node:crypto'

/** The field that the platform adds to documents. It is used to check permissions, and search results never contain it. */
export const ownField = '@waypost'
export const ownIndex = `${ownField}.index`
export const ownEndpoint = `${ownField}.endpointId`
export const ownArrival = `${ownField}.arrivedAt`

/** Returns a name in lower case, as the search engine requires. Names that differ only in case get different suffixes. */
export function engineName(tenantId: string, applicationName: string): string {
  const name = `${tenantId}-${applicationName}`
  const lower = name.toLowerCase()
  if (lower === name) return name
  return `${lower}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}

export const dayOf = (at: Date) => at.toISOString().slice(0, 10).replaceAll('-', '.')
