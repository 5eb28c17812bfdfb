/** Collects events that are not API operations, such as failed logins. Equal events within a second become one record with a count. */
import type { AuditRecord } from './record.ts'

const everyMs = 1000
/**
 * Maximum number of different events per tenant and second. Further events are recorded without address and actor. They thereby become
 * equal and share few records, so an attack cannot fill the disk.
 */
const eventsPerTenantMax = 100

export function createAuditEvents(write: (records: AuditRecord[]) => Promise<void>) {
  const pending = new Map<string, AuditRecord>()
  const perTenant = new Map<string, number>()
  let isScheduled = false
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    const records = [...pending.values()]
    pending.clear()
    perTenant.clear()
    if (records.length > 0) writing = writing.then(() => write(records))
    return writing
  }

  function schedule() {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => {
      isScheduled = false
      void flush()
    }, everyMs).unref()
  }

  function add(record: AuditRecord) {
    const key = JSON.stringify([record.tenantId, record.operation, record.actorId, record.address, record.resource])
    const known = pending.get(key)
    if (known) {
      known.count += record.count
      return
    }
    const ofTenant = perTenant.get(record.tenantId) ?? 0
    if (ofTenant >= eventsPerTenantMax && (record.address !== null || record.actorId !== null)) {
      add({ ...record, actorId: null, actorName: null, address: null, correlationId: null, resource: null })
      return
    }
    perTenant.set(record.tenantId, ofTenant + 1)
    pending.set(key, record)
    schedule()
  }

  return { add, flush }
}
