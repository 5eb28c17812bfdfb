/** Caches the pipelines of tenants, for the threads that run them. */
import { createCache } from '../../../kernel/cache.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import { PipelinesChanged } from '../events.ts'
import { findPipelineSet } from '../store/pipelines.ts'
import type { PipelineSet } from '../workers/protocol.ts'

export interface PipelineSets {
  /** Returns the set if it is cached. */
  get(tenantId: string): PipelineSet | undefined
  find(tenantId: string): Promise<PipelineSet>
}

const bytesMax = 64 * 1024 * 1024

export function createPipelineSets({ db, bus }: Pick<Kit, 'db' | 'bus'>): PipelineSets {
  const cache = createCache<PipelineSet & { bytes: number }>({ max: bytesMax, sizeOf: ({ bytes }) => bytes, bus })
  cache.dropOn(PipelinesChanged, ({ tenantId }) => tenantId)
  cache.dropOn(TenantDeleted, ({ tenantId }) => tenantId)
  return {
    get: (tenantId) => cache.get(tenantId),
    async find(tenantId) {
      const set = await cache.read(tenantId, async () => {
        const { version, pipelines } = await findPipelineSet(db.sql, tenantId)
        const bytes = Object.values(pipelines).reduce((sum, text) => sum + text.length * 2, 1024)
        return { tenantId, version, pipelines, bytes }
      })
      return set!
    },
  }
}
