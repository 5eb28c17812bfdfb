import type { TopicDefinition } from '../../kernel/live/live.ts'
import { Events, Name, RequestTime, type Static, Text, TextList, Type } from '../../kernel/schema.ts'

export const subscriptionsMax = 100
export const endpointsMax = 1000
const namesMax = 1000

const list = (item: string, description: string, maxItems = namesMax) =>
  Type.Optional(
    Type.Array(Text({ maxLength: 300, minLength: 1, description: item }), { minItems: 1, maxItems, description }),
  )
const words = <const T extends string>(values: T[], description: string) =>
  Type.Optional(Type.Array(Type.Enum(values), { minItems: 1, maxItems: values.length, description }))

const endpointsText =
  'Only events of these endpoints (ids). Default: all endpoints that the caller may read, including endpoints that are registered later.'
const seriesText = '`series`: only points of these series. Default: all.'

const filters = {
  applicationName: Type.Optional(
    Name({ description: 'Only events of this application. Required for `series`. Default: all applications.' }),
  ),
  endpointIds: list('Id of an endpoint.', endpointsText, endpointsMax),
  versionNames: list('Name of a version.', '`traffic`: only messages of these application versions. Default: all.'),
  directions: words(
    ['INBOUND', 'OUTBOUND'],
    '`traffic`: only messages from devices (INBOUND) or to devices (OUTBOUND). Default: both.',
  ),
  extensions: list(
    'Name of an extension.',
    '`traffic`: only messages of these extensions of the device protocol, such as `dcx`. Default: all.',
  ),
  seriesNames: list('Name of a series.', seriesText),
  reasons: list('Code of a reason.', '`refusals`: only refusals with these reasons. Default: all.'),
  severities: words(
    ['INFO', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'],
    '`alerts`: only alerts of these severities. Default: all.',
  ),
  alertTypes: list('Type of an alert.', '`alerts`: only alerts of these types. Default: all.'),
  by: list(
    'Property by which the endpoints are counted.',
    '`counts`: up to 5 of `application`, `version`, `connection` or metadata keys. Default: only the total is counted.',
    5,
  ),
  jobIds: list('Id of a job.', '`jobs`: only these jobs. Default: all that the caller may read.'),
}

const since = Type.Optional(
  RequestTime({
    description:
      'Begin with the events that were stored since this time. Default: new events only, or see Last-Event-ID.',
  }),
)

const idPattern = '^[A-Za-z0-9_.:-]+$'

const topicNames = (topics: ReadonlyMap<string, TopicDefinition>) =>
  [...topics.keys()].length > 0 ? [...topics.keys()] : ['none']

const subscriptionOf = (topics: ReadonlyMap<string, TopicDefinition>) =>
  Type.Object(
    {
      id: Name({
        maxLength: 64,
        pattern: idPattern,
        description: 'Name of the subscription, chosen by the client. The events of the subscription contain it.',
      }),
      topic: Type.Enum(topicNames(topics), {
        description: [...topics.values()].map(({ name, description }) => `\`${name}\`: ${description}`).join(' '),
      }),
      ...filters,
      newestOnly: Type.Optional(
        Type.Boolean({
          description:
            'true: of the events that wait for the next write to the stream, only the newest is sent, without a `gap`. For clients that read the ' +
            'data again when something has happened; it costs the platform a fraction of all events. Topics with counts have no such setting. Default: false.',
        }),
      ),
      since,
    },
    { title: 'TopicSubscription', description: 'A topic with filters; all filters have to match.' },
  )

export type SubscriptionRequest = Static<ReturnType<typeof subscriptionOf>>

const subscriptionsOf = (topics: ReadonlyMap<string, TopicDefinition>) =>
  Type.Array(subscriptionOf(topics), {
    maxItems: subscriptionsMax,
    description: `The subscriptions of the stream, at most ${subscriptionsMax}, each with a different id.`,
  })

const lastEventId = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'Id of the last event that the client received. Each topic then begins with the events that were stored since. It may repeat some earlier events, which the client recognises by their `id`. Default: new events only.',
    }),
  ),
})

const eventsText =
  'The response consists of server-sent events until the token expires. `open`: the stream has the id `streamId`. `subscribed`: a ' +
  'subscription is active; items that are stored from now on are delivered. An event with the name of a topic has `subscription` and `items`, in ' +
  'the form of the operation that lists the same items. `gap`: items were left out; read the missing items with that operation. `permissions`: the permissions of the ' +
  'caller have changed. `ended`: a subscription ended, with `status`, `code` and `message`, such as a permission that was revoked. `position`: everything before the id of this event was delivered. ' +
  '`end`: the last event, with its `reason`: `unauthenticated`, `too_slow` (nothing was read for a minute) or `stopping`.\n\n' +
  'Reasons of a `gap`: `missed` (nodes lost contact with each other, or a node died), `too_slow` (more events waited for the client than fit), ' +
  '`too_old`, `too_many` and `no_history` (what happened since Last-Event-ID cannot be delivered).'

const examples = [
  'event: traffic\nid: 1780000000000000\ndata: {"subscription":"messages","items":[{"id":"1780000000000000-i-7","direction":"INBOUND",…}]}\n\n',
]

const response = { 200: Events({ description: 'Server-sent events.', examples }) }

const fails = {
  400: 'A subscription is malformed: a topic or filter that does not exist, or a filter that the topic does not have.',
  429: 'The caller, its tenant or the node has as many streams open as it may have.',
}

export const watchTopics = (topics: ReadonlyMap<string, TopicDefinition>) => ({
  name: 'topics.watch',
  summary: 'Watch the events of topics',
  description:
    `Opens one stream for several topics with the same filters. A topic ignores filters that it does not have. The id of each subscription is the name of its topic. ` +
    `To use other filters for each topic, open a stream with \`streams.watch\`.\n\n${eventsText}`,
  query: Type.Object({
    topics: TextList({ description: `Names of the topics: ${topicNames(topics).join(', ')}.` }),
    applicationName: filters.applicationName,
    endpointIds: Type.Optional(TextList({ description: endpointsText })),
    seriesNames: Type.Optional(TextList({ description: seriesText })),
    since,
  }),
  headers: lastEventId,
  response,
  fails,
})

export const openStream = (topics: ReadonlyMap<string, TopicDefinition>) => ({
  name: 'streams.watch',
  summary: 'Watch topics with filters of their own over one stream',
  description: `Opens one stream for everything that a program or a web page watches. \`streams.update\` changes its subscriptions.\n\n${eventsText}`,
  headers: lastEventId,
  body: Type.Object(
    { subscriptions: subscriptionsOf(topics) },
    { title: 'StreamRequest', description: 'The subscriptions of a stream. There may be none at first.' },
  ),
  response,
  fails,
})

export const updateStream = (topics: ReadonlyMap<string, TopicDefinition>) => ({
  name: 'streams.update',
  summary: 'Change the subscriptions of an open stream',
  description:
    'Replaces all subscriptions. A subscription whose id and filters stay the same continues without interruption. Any node accepts the request. The request ' +
    'needs the same caller as the stream; the stream keeps the credentials with which it was opened.',
  params: Type.Object({
    streamId: Name({
      maxLength: 100,
      pattern: '^[A-Za-z0-9-]+$',
      description: 'Id of the stream, from its event `open`.',
    }),
  }),
  body: Type.Object(
    { subscriptions: subscriptionsOf(topics) },
    { title: 'StreamSubscriptions', description: 'All subscriptions that the stream shall have.' },
  ),
  response: {
    200: Type.Object(
      {
        streamId: Type.String({ description: 'Id of the stream.' }),
        subscriptions: Type.Array(Type.String({ description: 'Id of a subscription.' }), {
          description:
            'Ids of its subscriptions. The stream reports when each subscription is active, or why it ended.',
        }),
      },
      { title: 'OpenStream', description: 'An open stream.' },
    ),
  },
  fails: {
    400: fails[400],
    404: 'The stream has ended, or belongs to another caller: open a new stream.',
    503: 'The node that serves the stream does not answer.',
  },
})

export const listTopics = {
  name: 'topics.list',
  summary: 'List the topics of streams',
  description: 'Topics that a stream can have, with their filters and the scopes that they need.',
  response: {
    200: Type.Array(
      Type.Object(
        {
          topic: Type.String({ description: 'Name of the topic.' }),
          description: Type.String({ description: 'Description of the events of the topic.' }),
          scopes: Type.Array(Type.String(), { description: 'The scopes that a subscription needs.' }),
          filters: Type.Array(Type.String(), { description: 'The filters that a subscription may have.' }),
          hasHistory: Type.Boolean({
            description:
              'True when a stream that resumes gets the events that it missed; false when it gets a `gap` instead.',
          }),
        },
        { title: 'StreamTopic', description: 'A topic of streams.' },
      ),
      { description: 'All topics.' },
    ),
  },
}
