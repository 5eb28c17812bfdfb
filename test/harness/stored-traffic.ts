/** Reads packed and unpacked records of the traffic log from the database. */
import type { Sql } from '../../src/kernel/db.ts'
import { findFirst } from '../../src/services/traffic-log/search/search.ts'

export interface StoredTraffic {
  tenantId: string
  endpointId?: string
  limit?: number
}

/** Returns records of a tenant or one of its endpoints, oldest first. */
export const storedTraffic = (sql: Sql, { tenantId, endpointId, limit = 100_000 }: StoredTraffic) =>
  findFirst(
    sql,
    {
      tenantId,
      span: { from: 0, to: Number.MAX_SAFE_INTEGER },
      visible: 'all',
      ...(endpointId !== undefined && { endpointIds: new Set([endpointId]) }),
    },
    limit,
    Number.POSITIVE_INFINITY,
  )
