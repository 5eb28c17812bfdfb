import type { Http } from '../../../kernel/http/routes.ts'
import { sendContent } from '../../../kernel/http/send-content.ts'
import type { JobsService } from '../service.ts'
import * as schemas from './schemas.ts'

const bodyBytesMax = 1024 * 1024
const readEndpoints = { scope: 'endpoint:read', anyJson: 'inside' as const, bodyBytesMax }
const readSeries = { scope: ['endpoint:read', 'time-series:read'], bodyBytesMax }
const readTraffic = { scope: 'endpoint:read' }
/** The service checks that the caller created the export. */
const anyCaller = { scope: 'authenticated', linkable: true as const }

export function exportRoutes(http: Http, jobs: JobsService) {
  const { exports } = jobs
  const link = (request: Parameters<Http['link']>[0], jobId: string) => http.link(request, `/jobs/${jobId}`)

  http.post(
    '/jobs/endpoint-exports',
    { schema: schemas.exportEndpoints, config: readEndpoints },
    async (request, reply) => {
      const { select, ...rest } = request.body
      const jobId = await exports.exportEndpoints(request.ctx, { ...rest, select })
      return reply
        .code(201)
        .header('location', link(request, jobId))
        .send(await jobs.read(request.ctx, jobId))
    },
  )

  http.post('/jobs/series-exports', { schema: schemas.exportSeries, config: readSeries }, async (request, reply) => {
    const jobId = await exports.exportSeries(request.ctx, request.body)
    return reply
      .code(201)
      .header('location', link(request, jobId))
      .send(await jobs.read(request.ctx, jobId))
  })

  http.post('/jobs/traffic-exports', { schema: schemas.exportTraffic, config: readTraffic }, async (request, reply) => {
    const jobId = await exports.exportTraffic(request.ctx, request.body)
    return reply
      .code(201)
      .header('location', link(request, jobId))
      .send(await jobs.read(request.ctx, jobId))
  })

  http.get('/jobs/:jobId/file', { schema: schemas.downloadFile, config: anyCaller }, (request, reply) =>
    sendContent(request, reply, (choose) => exports.open(request.ctx, request.params.jobId, choose)),
  )
}
