import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import { listOf, type OperationSchema, type Static } from '../../../kernel/schema.ts'
import * as schemas from '../schemas.ts'
import type { TimeSeriesService } from '../service.ts'
import { given, spanOf } from './dates.ts'
import { jsonType, sendPieces } from './send.ts'

type Body = Static<typeof schemas.searchData.body>
type Asking = Pick<Request<OperationSchema>, 'raw'> & { ctx: Ctx; params: { applicationName: string } }

const path = '/api/v1/applications/:applicationName/time-series/data'
const read = { scope: ['endpoint:read', 'time-series:read'] }

export function dataRoutes(http: Http, { data, now }: TimeSeriesService) {
  async function answer(request: Asking, reply: Reply, body: Body) {
    const pieces = await data.read(request.ctx, {
      ...request.params,
      endpointIds: given(body.endpointIDs),
      seriesNames: body.timeSeriesNames,
      span: spanOf(body, now()),
      descending: body.sort === 'DESC',
    })
    return await sendPieces(request, reply, jsonType, pieces)
  }

  http.get(path, { schema: schemas.readData, config: read }, (request, reply) => {
    const { timeSeriesName, endpointId, ...rest } = request.query
    const [timeSeriesNames = [], endpointIDs = []] = [listOf(timeSeriesName), listOf(endpointId)]
    if (timeSeriesNames.length === 0) throw invalidField('timeSeriesName', 'must not be empty')
    return answer(request, reply, { ...rest, timeSeriesNames, endpointIDs })
  })

  http.post(path, { schema: schemas.searchData, config: read }, (request, reply) =>
    answer(request, reply, request.body),
  )
}
