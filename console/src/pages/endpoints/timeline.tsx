/**
 * Everything that happened to an endpoint, in one list: messages with their responses, refusals, commands, configurations, software,
 * alerts.
 */
import { useMay } from '../../api/me.ts'
import { useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { Icon } from '../../parts/icons.tsx'
import { EmptyState, Note } from '../../parts/notes.tsx'
import type { Problem } from '../../parts/problem.ts'
import { Segments } from '../../parts/segments.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { nowMs, Time } from '../../parts/time.tsx'
import { texts } from './detail-texts.ts'
import type { TabProps } from './tab.ts'
import {
  alertEvents,
  commandEvents,
  configurationEvents,
  connectionEvents,
  refusalEvents,
  softwareEvents,
  type TimelineEvent,
  trafficEvents,
} from './timeline-events.ts'
import { useCommands } from './use-commands.ts'
import { useSoftware } from './use-software.ts'

const ranges = ['15m', '1h', '1d', '7d', '30d'] as const
const kinds = ['all', 'problems', 'traffic', 'commands', 'configuration', 'software', 'alerts'] as const
const perKind = 200
const shownMax = 400
const refreshMs = 5_000
const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const lengthOf = (range: string) => Number.parseInt(range, 10) * unitMs[range.at(-1) as keyof typeof unitMs]

export default function TimelineTab(props: TabProps) {
  const address = useAddressState({
    ...{ tab: text('now'), range: oneOf(ranges, '1d'), kind: oneOf(kinds, 'all'), q: text() },
  })
  const { range, kind, q } = address.values
  const { events, problems, isLoading, isKindLoading } = useEvents(props, range)
  const shown = events.filter((event) => isOfKind(event, kind) && contains(event, q))
  const { endpointId } = props.endpoint
  return (
    <>
      <FilterBar address={{ ...address, isChanged: false }}>
        <SearchBox label={texts.searchTimeline} value={q} onChange={(q) => address.set({ q })} />
        <SelectField
          label={texts.range}
          value={range}
          onChange={(key) => address.set({ range: key as typeof range })}
          options={ranges.map((value) => ({ value, label: texts.ranges[value] }))}
          isCompact
        />
        <AsCommand operation="traffic.list" args={{ endpointIds: endpointId, fromCreatedAt: `now-${range}` }} />
      </FilterBar>
      <Segments
        label={texts.kinds}
        value={kind}
        onChange={(kind) => address.set({ kind })}
        options={kinds.map((value) => ({
          value,
          label: texts.kind[value],
          count: isKindLoading(value) ? undefined : events.filter((event) => isOfKind(event, value)).length,
        }))}
      />
      {problems.map(([part, problem]) => (
        <Note key={part} tone="warn">
          {texts.partMissing(part)}: <Text value={problem.message} />
        </Note>
      ))}
      {isLoading || (shown.length === 0 && isKindLoading(kind)) ? (
        <Loading label={texts.loading} lines={8} />
      ) : shown.length === 0 ? (
        <EmptyState icon="clock" title={texts.timelineEmptyTitle}>
          {texts.timelineEmpty}
        </EmptyState>
      ) : (
        <>
          <section className="timeline" aria-label={texts.timeline}>
            {shown.slice(0, shownMax).map((event) => (
              <EventRow key={event.id} event={event} />
            ))}
          </section>
          <p className="quiet">{texts.shownMax(perKind)}</p>
        </>
      )}
    </>
  )
}

const isOfKind = ({ kind, tone }: TimelineEvent, filterKind: (typeof kinds)[number]) =>
  filterKind === 'all' ||
  (filterKind === 'problems'
    ? tone === 'bad'
    : filterKind === 'traffic'
      ? ['traffic', 'connection'].includes(kind)
      : kind === filterKind)

const contains = ({ title, why = '', correlationId = '', details }: TimelineEvent, q: string) =>
  q === '' ||
  [title, why, correlationId, ...details.flatMap(({ name, text }) => [name, text])].some((part) =>
    part.toLowerCase().includes(q.toLowerCase()),
  )

function useEvents(props: TabProps, range: string) {
  const { endpoint, resources } = props
  const { endpointId, appName, appVersion } = endpoint
  const may = useMay()
  const fromCreatedAt = `now-${range}`
  const mayRefusals = may('tenant:refusal:read', 'tenant-system')
  const maySoftware = may('application:software:read', ...resources)
  const mayAlerts = may('alert:read')
  const traffic = useList('traffic.list', { endpointIds: endpointId, fromCreatedAt, size: perKind }, { refreshMs })
  const refusals = useList(
    'refusals.list',
    { fromCreatedAt, size: perKind },
    { enabled: mayRefusals, refreshMs: 2 * refreshMs },
  )
  const ownRefusals = useList(
    'refusals.list',
    { endpointIds: endpointId, fromCreatedAt, size: perKind },
    { enabled: mayRefusals, refreshMs: 2 * refreshMs },
  )
  const connections = useList('endpoints.connections.list', { endpointId }, { refreshMs })
  const alerts = useList(
    'alerts.list',
    { entityType: 'ENDPOINT', entityIds: endpointId, size: perKind },
    { enabled: mayAlerts, refreshMs: 2 * refreshMs },
  )
  const statuses = useList('configurations.statuses.list', { endpointId, size: perKind }, { refreshMs: 2 * refreshMs })
  const software = useSoftware(appName, endpointId, maySoftware)
  const commands = useCommands(props)
  const since = nowMs() - lengthOf(range)
  const events = [
    ...trafficEvents(traffic.items),
    // Refusals with an unknown token are shown too, because a refusal with the same version may concern this device.
    ...refusalEvents(
      [...ownRefusals.items, ...refusals.items.filter((one) => !one.endpointId)],
      endpointId,
      appVersion.name,
    ),
    ...connectionEvents(connections.items),
    ...commandEvents(commands.items),
    ...configurationEvents(statuses.items),
    ...softwareEvents(software.data?.attempts ?? []),
    ...alertEvents(alerts.items),
  ]
    .filter(({ at }) => at >= since)
    .sort((a, b) => b.at - a.at)
  const problems = [
    [texts.kind.traffic, traffic.problem ?? connections.problem],
    [texts.refusals, refusals.problem ?? ownRefusals.problem],
    [texts.kind.alerts, alerts.problem],
    [texts.kind.configuration, statuses.problem],
    [texts.kind.software, software.problem],
    [texts.kind.commands, commands.problem],
  ].filter((entry): entry is [string, Problem] => entry[1] !== undefined)
  const loading: Partial<Record<(typeof kinds)[number], boolean>> = {
    traffic: traffic.isLoading || connections.isLoading,
    problems: refusals.isLoading || ownRefusals.isLoading,
    commands: commands.isLoading,
    configuration: statuses.isLoading,
    software: software.isLoading,
    alerts: alerts.isLoading,
  }
  /** Events of each kind can be problems. */
  const isKindLoading = (kind: (typeof kinds)[number]) =>
    kind === 'all' || kind === 'problems' ? Object.values(loading).includes(true) : loading[kind] === true
  return { events, problems, isLoading: traffic.isLoading, isKindLoading }
}

const payloadMax = 20_000

function EventRow({ event }: { event: TimelineEvent }) {
  const { at, icon, tone, title, why, preview, correlationId, details } = event
  return (
    <details className={`event event-${tone}`}>
      <summary>
        <span className="event-time">
          <Time value={at} style="clock" />
        </span>
        <span className="event-icon">
          <Icon name={icon} size={16} />
        </span>
        <span className="event-words">
          <span className="event-title">
            <Text value={title} max={120} />
          </span>
          {why && (
            <span className="event-why">
              <Text value={why} max={400} />
            </span>
          )}
          {preview && (
            <span className="event-preview">
              <Text value={preview} max={200} mono />
            </span>
          )}
        </span>
      </summary>
      <div className="event-body">
        <p className="quiet">
          <Time value={at} style="full" />
          {correlationId && (
            <>
              {' · '}
              {texts.correlationId} <Text value={correlationId} mono />
            </>
          )}
        </p>
        {details.map(({ name, text }) => (
          <div key={name}>
            <h3>
              <Text value={name} max={120} />
            </h3>
            <pre className="event-payload" dir="ltr">
              {text.split('\n').map(withoutInvisible).join('\n').slice(0, payloadMax)}
            </pre>
            {cut(text, payloadMax).isCut && <Text value={texts.cutPayload(text.length)} />}
          </div>
        ))}
      </div>
    </details>
  )
}
