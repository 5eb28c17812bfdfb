import type { Ctx } from '../../../kernel/contract.ts'
import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import { listOf, type OperationSchema, type Static } from '../../../kernel/schema.ts'
import * as schemas from '../schemas/points.ts'
import type { TimeSeriesService } from '../service.ts'
import { nonEmpty, untilOf } from './dates.ts'
import { jsonType, sendBuffers } from './send.ts'

type Body = Static<typeof schemas.searchLast.body>
type LastHttpRequest = Pick<Request<OperationSchema>, 'raw'> & { ctx: Ctx; params: { applicationName: string } }

const path = '/api/v1/applications/:applicationName/time-series/last'
const read = { scope: ['endpoint:read', 'time-series:read'] }

export function lastRoutes(http: Http, { last, now }: TimeSeriesService) {
  async function respond(request: LastHttpRequest, reply: Reply, body: Body) {
    const buffers = await last.read(request.ctx, {
      ...request.params,
      endpointIds: nonEmpty(body.endpointIDs),
      seriesNames: nonEmpty(body.timeSeriesNames),
      until: untilOf(body.beforeDate, now()),
      offset: body.offset ?? 0,
      limit: body.limit ?? 1,
    })
    return await sendBuffers(request, reply, jsonType, buffers)
  }

  http.get(path, { schema: schemas.readLast, config: read }, (request, reply) => {
    const { timeSeriesName, endpointId, ...rest } = request.query
    const [timeSeriesNames = [], endpointIDs = []] = [listOf(timeSeriesName), listOf(endpointId)]
    return respond(request, reply, { ...rest, timeSeriesNames, endpointIDs })
  })

  http.post(
    path,
    { schema: schemas.searchLast, config: { ...read, bodyOptional: true, bodyBytesMax: 1024 * 1024 } },
    (request, reply) => respond(request, reply, request.body),
  )
}
