import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import { listOf } from '../../kernel/schema.ts'
import * as schemas from './schemas.ts'
import type { JobQuery, JobsService } from './service.ts'

/** For operations that create jobs: metadata and the values of conditions are arbitrary JSON of users. */
const creation = { anyJson: 'inside' as const, bodyBytesMax: 1024 * 1024 }
const remove = { scope: 'endpoint:delete', ...creation }
const update = { scope: 'endpoint:update', ...creation }
const defaultTtlMs = 60_000
/** Callers may read their own jobs. For other jobs, the service checks the scope. */
const anyCaller = { scope: 'authenticated' }

export function routes(http: Http, jobs: JobsService) {
  const { works } = jobs
  const link = (request: Parameters<Http['link']>[0], jobId: string) => http.link(request, `/jobs/${jobId}`)

  http.post('/jobs/endpoint-deletions', { schema: schemas.createDeletion, config: remove }, async (request, reply) => {
    const job = await jobs.create(request.ctx, works.delete, request.body, {})
    return reply.code(201).header('location', link(request, job.jobId)).send(job)
  })

  http.post(
    '/jobs/metadata-patches',
    { schema: schemas.createMetadataPatch, config: update },
    async (request, reply) => {
      const { operations, merge, ...selection } = request.body
      const job = await jobs.create(request.ctx, works.patchMetadata, selection, {
        ...(operations && { operations }),
        ...(merge && { merge }),
      })
      return reply.code(201).header('location', link(request, job.jobId)).send(job)
    },
  )

  http.post(
    '/jobs/version-changes',
    { schema: schemas.createVersionChange, config: update },
    async (request, reply) => {
      const { versionName, ...selection } = request.body
      const job = await jobs.create(request.ctx, works.changeVersion, selection, { versionName })
      return reply.code(201).header('location', link(request, job.jobId)).send(job)
    },
  )

  http.post('/jobs/commands', { schema: schemas.createCommands, config: update }, async (request, reply) => {
    const { commandType, commandTtl = defaultTtlMs, payload, ...selection } = request.body
    const command = { commandType, commandTtl, payload }
    const job = await jobs.create(request.ctx, works.command, selection, command)
    return reply.code(201).header('location', link(request, job.jobId)).send(job)
  })

  http.post(
    '/jobs/configurations',
    { schema: schemas.createConfigurations, config: update },
    async (request, reply) => {
      const { name = 'default', config, ...selection } = request.body
      const job = await jobs.create(request.ctx, works.configuration, selection, { name, config })
      return reply.code(201).header('location', link(request, job.jobId)).send(job)
    },
  )

  http.get('/jobs', { schema: schemas.listJobs, config: anyCaller }, async ({ ctx, query }, reply) => {
    const { state, kind, ...rest } = query
    return reply.send(await jobs.list(ctx, { ...rest, states: statesOf(state), kinds: listOf(kind) }))
  })

  http.get('/jobs/:jobId', { schema: schemas.readJob, config: anyCaller }, async ({ ctx, params }, reply) =>
    reply.send(await jobs.read(ctx, params.jobId)),
  )

  http.get(
    '/jobs/:jobId/items',
    { schema: schemas.listItems, config: anyCaller },
    async ({ ctx, params, query }, reply) => reply.send(await jobs.items(ctx, params.jobId, query)),
  )

  http.post('/jobs/:jobId/start', { schema: schemas.startJob, config: anyCaller }, async ({ ctx, params }, reply) =>
    reply.send(await jobs.start(ctx, params.jobId)),
  )

  http.post('/jobs/:jobId/cancel', { schema: schemas.cancelJob, config: anyCaller }, async ({ ctx, params }, reply) =>
    reply.send(await jobs.cancel(ctx, params.jobId)),
  )
}

function statesOf(text: string | string[] | undefined): JobQuery['states'] {
  const names = listOf(text)
  const unknown = names?.find((name) => !schemas.states.includes(name as never))
  if (unknown !== undefined) throw invalidField('state', `expected ${schemas.states.join(', ')}`)
  return names as JobQuery['states']
}
