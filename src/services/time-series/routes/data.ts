import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Http, Reply, Request } from '../../../kernel/http/routes.ts'
import { listOf, type OperationSchema, type Static } from '../../../kernel/schema.ts'
import * as schemas from '../schemas.ts'
import type { TimeSeriesService } from '../service.ts'
import { endOf, type Span, startOf } from '../times.ts'
import { jsonType, sendPieces } from './send.ts'

type Body = Static<typeof schemas.searchData.body>

const read = { scope: ['endpoint:read', 'time-series:read'] }

export function dataRoutes(http: Http, { data, now }: TimeSeriesService) {
  async function answer(
    request: Pick<Request<OperationSchema>, 'raw'> & { ctx: Ctx },
    reply: Reply,
    applicationName: string,
    body: Body,
  ) {
    const pieces = await data.read(request.ctx, {
      applicationName,
      endpointIds: body.endpointIDs,
      seriesNames: body.timeSeriesNames,
      span: spanOf(body, now()),
      descending: body.sort === 'DESC',
    })
    return await sendPieces(request, reply, jsonType, pieces)
  }

  http.get(
    '/api/v1/applications/:applicationName/time-series/data',
    { schema: schemas.readData, config: read },
    (request, reply) => {
      const { timeSeriesName, endpointId, ...rest } = request.query
      const timeSeriesNames = listOf(timeSeriesName)!
      if (timeSeriesNames.length === 0) throw invalidField('timeSeriesName', 'must not be empty')
      const endpointIDs = given(listOf(endpointId))
      const body = { ...rest, timeSeriesNames, ...(endpointIDs && { endpointIDs }) }
      return answer(request, reply, request.params.applicationName, body)
    },
  )

  http.post(
    '/api/v1/applications/:applicationName/time-series/data',
    { schema: schemas.searchData, config: read },
    (request, reply) => answer(request, reply, request.params.applicationName, request.body),
  )
}

/** A list without anything in it is as none. */
const given = (list: string[] | undefined) => (list && list.length > 0 ? list : undefined)

function spanOf({ fromDate, toDate, includeTime }: Body, now: Date): Span {
  const expected = 'expected ISO 8601, now, or now-<n> with one of s, m, h, d, w, M, y'
  const from = startOf(fromDate, includeTime === 'from' || includeTime === 'both', now)
  const to = endOf(toDate, includeTime === 'to' || includeTime === 'both', now)
  if (from === undefined) throw invalidField('fromDate', expected)
  if (to === undefined) throw invalidField('toDate', expected)
  // Two exclusive bounds that are the same moment are two apart.
  if (from > to + 2) throw invalidField('toDate', 'expected a moment that is not before fromDate')
  return { from, to }
}
