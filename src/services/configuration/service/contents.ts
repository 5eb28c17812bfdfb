/** Caches configurations as JSON. A content never changes, so its cache entry is never invalidated. */
import { createBatcher } from '../../../kernel/batcher.ts'
import { createCache } from '../../../kernel/cache.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import * as store from '../store/configs.ts'

export interface StoredContent {
  text: string
  value: unknown
}

export interface Contents {
  find(tenantId: string, configId: string): Promise<StoredContent | undefined>
}

const bytesMax = 32 * 1024 * 1024
const contentsPerStatement = 16

export function createContents({ db, bus }: Pick<Kit, 'db' | 'bus'>): Contents {
  // A value takes about three times the memory of its text.
  const cache = createCache<StoredContent>({ max: bytesMax, sizeOf: ({ text }) => text.length * 4, bus })
  const read = createBatcher<{ tenantId: string; configId: string }, string>(async (requests) => {
    const found = new Map<string, string>()
    for (const [tenantId, ofTenant] of Map.groupBy(requests, (request) => request.tenantId))
      for (const row of await store.findContents(
        db.sql,
        tenantId,
        ofTenant.map(({ configId }) => configId),
      ))
        found.set(`${tenantId} ${row.configId}`, row.config)
    return requests.map(({ tenantId, configId }) => found.get(`${tenantId} ${configId}`))
  }, contentsPerStatement)
  return {
    find: (tenantId, configId) =>
      cache.read(`${tenantId} ${configId}`, async () => {
        const text = await read({ tenantId, configId })
        return text === undefined ? undefined : { text, value: JSON.parse(text) }
      }),
  }
}
