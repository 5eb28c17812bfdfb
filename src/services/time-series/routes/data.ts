import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import { listOf, type OperationSchema, type Static } from '../../../kernel/schema.ts'
import { reductionOf } from '../read/reduction.ts'
import * as schemas from '../schemas/points.ts'
import type { TimeSeriesService } from '../service.ts'
import { spanOf } from '../spans.ts'
import { nonEmpty } from './dates.ts'
import { csvType, jsonType, sendBuffers, wantsCsv } from './send.ts'

type Body = Static<typeof schemas.searchData.body>
type DataHttpRequest = Pick<Request<OperationSchema>, 'raw'> & { ctx: Ctx; params: { applicationName: string } }

const path = '/api/v1/applications/:applicationName/time-series/data'
const read = { scope: ['endpoint:read', 'time-series:read'] }

export function dataRoutes(http: Http, { data, now }: TimeSeriesService) {
  async function respond(request: DataHttpRequest, reply: Reply, body: Body) {
    const format = body.format ?? (wantsCsv(request.raw.headers.accept) ? 'csv' : 'json')
    const buffers = await data.read(request.ctx, {
      ...request.params,
      endpointIds: nonEmpty(body.endpointIDs),
      seriesNames: body.timeSeriesNames,
      span: spanOf(body, now()),
      descending: body.sort === 'DESC',
      reduction: reductionOf(body),
      format,
    })
    reply.header('vary', 'accept')
    if (format === 'csv') reply.header('content-disposition', 'attachment; filename="time-series.csv"')
    return await sendBuffers(request, reply, format === 'csv' ? csvType : jsonType, buffers)
  }

  http.get(path, { schema: schemas.readData, config: read }, (request, reply) => {
    const { timeSeriesName, endpointId, ...rest } = request.query
    const [timeSeriesNames = [], endpointIDs = []] = [listOf(timeSeriesName), listOf(endpointId)]
    if (timeSeriesNames.length === 0) throw invalidField('timeSeriesName', 'must not be empty')
    return respond(request, reply, { ...rest, timeSeriesNames, endpointIDs })
  })

  http.post(path, { schema: schemas.searchData, config: { ...read, bodyBytesMax: 1024 * 1024 } }, (request, reply) =>
    respond(request, reply, request.body),
  )
}
