/**
 * Finds out which objects an interrupted apply has created. Each creation has a correlation id that the apply stores before it sends the
 * request, and the audit log of the platform contains the correlation id if and only if the object was created.
 */
import type { Client } from '../../../sdk/src/index.ts'
import type { AuditRecord } from '../../../sdk/src/operations.ts'
import type { Found } from './kind.ts'

/** A creation that an apply is about to request. */
export interface Creation {
  name: string
  correlationId: string
}

/** Returns whether the request of this creation has created the found object; undefined if the caller may not read the audit log. */
export async function isCreatedBy(
  client: Client,
  { correlationId }: Creation,
  found: Found,
): Promise<boolean | undefined> {
  try {
    const [own] = await recordsOf(client, { correlationId })
    if (own?.resource === undefined) return false
    const { resource, operation, at: from } = own
    const last = decodeURIComponent(resource.slice(resource.lastIndexOf('/') + 1))
    if (!Object.values(found.args).includes(last)) return false
    // Some objects have no id. Such an object can have been deleted and created again with the same name by another caller.
    const later = await recordsOf(client, { resource, from })
    return !later.some(
      (one) =>
        one.correlationId !== correlationId &&
        one.resource === resource &&
        (one.operation === operation || one.operation.endsWith('.delete')),
    )
  } catch (error) {
    if ((error as { status?: number }).status === 403) return undefined
    throw error
  }
}

/** Returns the records of the audit log that match the query and belong to successful requests. */
async function recordsOf(client: Client, query: { correlationId?: string; resource?: string; from?: string }) {
  const records = await Array.fromAsync(client.list<AuditRecord>('auditRecords.list', query))
  return records.filter(({ status }) => status !== undefined && status < 300)
}
