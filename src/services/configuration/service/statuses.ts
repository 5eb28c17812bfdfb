/** Statuses of configurations: whether an endpoint has received and applied its configuration. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Window } from '../../../kernel/paging.ts'
import { visibleResources } from '../../../kernel/permissions.ts'
import type { Register } from '../../register/contract.ts'
import { findContents } from '../store/configs.ts'
import * as store from '../store/statuses.ts'

export type StatusSearch = Omit<store.StatusQuery, 'tenantId' | 'visibility'>

export interface StatusRecord extends store.StatusRow {
  config: string | undefined
}

export interface StatusOperations {
  /** Returns the number of all records, and the records of a page. The texts of configurations are read while the response is sent. */
  list(
    ctx: Ctx,
    search: StatusSearch,
    page: Window,
  ): Promise<{ total: number; count: number; records: AsyncIterable<StatusRecord> }>
}

/** Maximum number of characters of configurations in memory for one response. */
const charactersInMemoryMax = 4_000_000

export function createStatusOperations(
  { db }: Pick<Kit, 'db'>,
  register: Pick<Register, 'relation'>,
): StatusOperations {
  async function* withConfigs(tenantId: string, rows: store.StatusRow[]) {
    for (const part of partsOf(rows)) {
      const ids = [...new Set(part.map(({ configId }) => configId))]
      const texts = new Map((await findContents(db.sql, tenantId, ids)).map((row) => [row.configId, row.config]))
      for (const row of part) yield { ...row, config: texts.get(row.configId) }
    }
  }

  return {
    async list(ctx, search, page) {
      const { tenantId } = ctx
      const query = { ...search, tenantId, visibility: visibilityOf(ctx) }
      const [total, rows] = await Promise.all([
        store.countStatuses(db.sql, query, register.relation),
        store.findStatuses(db.sql, query, register.relation, page),
      ])
      return { total, count: rows.length, records: withConfigs(tenantId, rows) }
    },
  }
}

function visibilityOf({ caller, tenantId }: Ctx): store.StatusQuery['visibility'] {
  const applicationNames = visibleResources(caller, 'endpoint:read', tenantId, 'application-')
  const endpointIds = visibleResources(caller, 'endpoint:read', tenantId, 'endpoint-')
  return applicationNames === 'all' || endpointIds === 'all' ? 'all' : { applicationNames, endpointIds }
}

/** Splits rows into parts, so that the different configurations of a part fit into memory. */
function* partsOf(rows: store.StatusRow[]): Generator<store.StatusRow[]> {
  let part: store.StatusRow[] = []
  let characters = 0
  const seen = new Set<string>()
  for (const row of rows) {
    const added = seen.has(row.configId) ? 0 : row.length
    if (part.length > 0 && characters + added > charactersInMemoryMax) {
      yield part
      part = []
      characters = 0
      seen.clear()
    }
    part.push(row)
    characters += seen.has(row.configId) ? 0 : row.length
    seen.add(row.configId)
  }
  if (part.length > 0) yield part
}
