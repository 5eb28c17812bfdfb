import { invalidField } from '../../kernel/errors.ts'
import type { Http } from '../../kernel/http/routes.ts'
import type { Live } from '../../kernel/live/live.ts'
import { listOf } from '../../kernel/schema.ts'
import { filtersOf } from './admission.ts'
import * as schemas from './schemas.ts'
import type { LiveService } from './service.ts'

const authenticated = { scope: 'authenticated', readOnly: true }

export function routes(http: Http, service: LiveService, { topics }: Pick<Live, 'topics'>) {
  http.get('/topics', { schema: schemas.listTopics, config: authenticated }, async (_, reply) =>
    reply.send(service.topics()),
  )

  http.get('/stream', { schema: schemas.watchTopics(topics), config: authenticated }, async (request, reply) => {
    const { ctx, query, headers, callerNow } = request
    const subscriptions = subscriptionsOf(topics, query)
    service.watch(ctx, { subscriptions, lastEventId: headers['last-event-id']?.toString() }, callerNow, () =>
      http.events(request, reply),
    )
    return reply
  })

  http.post('/streams', { schema: schemas.openStream(topics), config: authenticated }, async (request, reply) => {
    const { ctx, body, headers, callerNow } = request
    const { subscriptions } = body
    service.watch(ctx, { subscriptions, lastEventId: headers['last-event-id']?.toString() }, callerNow, () =>
      http.events(request, reply),
    )
    return reply
  })

  http.put(
    '/streams/:streamId',
    { schema: schemas.updateStream(topics), config: authenticated },
    async ({ ctx, params: { streamId }, body: { subscriptions } }, reply) => {
      await service.update(ctx, streamId, subscriptions)
      return reply.send({ streamId, subscriptions: subscriptions.map(({ id }) => id) })
    },
  )
}

interface Query {
  topics: string | string[]
  applicationName?: string
  endpointIds?: string | string[]
  seriesNames?: string | string[]
  since?: string
}

/** Creates a subscription for each topic, with the filters that the topic supports. */
function subscriptionsOf(topics: Live['topics'], query: Query): schemas.SubscriptionRequest[] {
  const names = [...new Set(listOf(query.topics))]
  if (names.length === 0) throw invalidField('topics', 'expected the name of a topic')
  const endpointIds = listOf(query.endpointIds)
  if (endpointIds && endpointIds.length > schemas.endpointsMax)
    throw invalidField('endpointIds', `expected at most ${schemas.endpointsMax} of them`)
  const seriesNames = listOf(query.seriesNames)
  const fields: Record<string, unknown> = {
    applicationName: query.applicationName,
    endpointIds: endpointIds?.length ? endpointIds : undefined,
    seriesNames: seriesNames?.length ? seriesNames : undefined,
    since: query.since,
  }
  return names.map((name) => {
    const topic = topics.get(name)
    if (!topic) throw invalidField('topics', `${name.slice(0, 100)} is not one of ${[...topics.keys()].join(', ')}`)
    if (topic.needsApplication && query.applicationName === undefined)
      throw invalidField('applicationName', `the topic ${name} needs it`)
    const filters = filtersOf(topic).filter((filter) => fields[filter] !== undefined)
    return { id: name, topic: name, ...Object.fromEntries(filters.map((filter) => [filter, fields[filter]])) }
  })
}
