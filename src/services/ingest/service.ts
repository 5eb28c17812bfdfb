/** Assembles the service; see README.md. */
import type { Kit } from '../../kernel/define-service.ts'
import { createCompanion } from './documents/companion.ts'
import { createPartitions } from './documents/partitions.ts'
import { createPipelineQueue } from './documents/pipeline-queue.ts'
import { createEngine } from './engine/client.ts'
import { createForward } from './engine/forward.ts'
import { createSender } from './engine/sender.ts'
import { pipelineThreadFailed } from './log-messages.ts'
import { createDeletions, type Deletions } from './service/deletions.ts'
import type { Deps, Needs } from './service/deps.ts'
import { createMappingOperations, type MappingOperations } from './service/mappings.ts'
import { createPipelineSets } from './service/pipeline-sets.ts'
import { createPipelineOperations, type PipelineOperations } from './service/pipelines.ts'
import { createSearchedIndices, scopeOf } from './service/scopes.ts'
import { createSearchOperations, type SearchOperations } from './service/search.ts'
import { statisticsSource } from './service/statistics.ts'
import { createTemplateOperations, type TemplateOperations } from './service/templates.ts'
import type { IngestSettings } from './settings.ts'
import { findUnregistered } from './store/outgoing.ts'
import { documentsRelation } from './store/search/documents.ts'
import { createPipelinePool } from './workers/pool.ts'

export interface IngestService {
  pipelines: PipelineOperations
  templates: TemplateOperations
  mappings: MappingOperations
  searches: SearchOperations
  deletions: Deletions
  periodic: { name: string; everySeconds: number; run: ReturnType<typeof createPartitions>['renew'] }[]
  start(): Promise<void>
  stop(): Promise<void>
}

export function createIngest(kit: Kit<IngestSettings>, needs: Needs): IngestService {
  const sets = createPipelineSets(kit)
  const pool = createPipelinePool({
    threads: kit.settings.threads,
    regexEnabled: kit.settings.regexEnabled,
    now: kit.now,
    onError: (error) => pipelineThreadFailed(kit.log, { err: error }),
  })
  const deps: Deps = { kit, ...needs, pool, sets }
  const deletions = createDeletions(deps)
  const partitions = createPartitions(kit, kit.settings.documentDays, deletions.deleteBefore)
  kit.bus.onReset(partitions.invalidate)
  const external = createExternalEngine(kit)
  const searched = createSearchedIndices(kit)
  const queue = createPipelineQueue({ pool, sets })
  needs.timeSeries.setCompanion(createCompanion({ kit, partitions, queue, stored: external?.sender.enqueue }))
  return {
    pipelines: createPipelineOperations(deps),
    templates: createTemplateOperations(deps),
    mappings: createMappingOperations(deps),
    searches: createSearchOperations(deps, {
      sourceOf: async (ctx, target, request) =>
        'statistics' in target
          ? statisticsSource(needs, ctx.tenantId, target)
          : { relation: documentsRelation, scope: await scopeOf(searched, ctx, target, request) },
      forward: external?.forward,
    }),
    deletions,
    periodic: [{ name: 'ingest.partitions', everySeconds: 3600, run: partitions.renew }],
    async start() {
      await partitions.prepare()
      external?.sender.start()
    },
    async stop() {
      await external?.sender.stop()
      await pool.stop()
    },
  }
}

/** Creates the client of the external search engine. Returns undefined if there is none; PostgreSQL then answers searches itself. */
function createExternalEngine(kit: Kit<IngestSettings>) {
  const { searchUrl, queueDocumentsMax } = kit.settings
  if (searchUrl === undefined) return undefined
  const engine = createEngine(searchUrl)
  return {
    sender: createSender(kit, engine, queueDocumentsMax),
    forward: createForward(engine, (tenantId, endpointIds) => findUnregistered(kit.db.sql, tenantId, endpointIds)),
  }
}
