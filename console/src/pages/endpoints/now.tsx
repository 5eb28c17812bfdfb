/** The current state of an endpoint: connection, latest values, latest messages. */
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { rowsOf } from '../../api/points.ts'
import { useGet, useList } from '../../api/query.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ConnectionBadge } from '../../parts/connection.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { texts } from './detail-texts.ts'
import type { TabProps } from './tab.ts'

const addressOf = (endpointId: string) => `/endpoints/${encodeURIComponent(endpointId)}`

const refreshMs = 5_000
const shownPoints = 40
const shownMessages = 8

export default function NowTab({ endpoint, entry, mayUpdate }: TabProps) {
  const { endpointId, appName, appVersion, createdDate, metadataUpdatedDate, metadata } = endpoint
  const may = useMay()
  const alerts = useList(
    'alerts.list',
    { entityType: 'ENDPOINT', entityIds: endpointId, state: 'OPEN', size: 5 },
    { enabled: may('alert:read'), refreshMs: 15_000 },
  )
  return (
    <>
      <div className="columns">
        <Card title={texts.state}>
          <Facts
            items={[
              [texts.facts.connection, <Connection key="connection" entry={entry} />],
              [
                texts.facts.connectionSince,
                <Time key="since" value={metadata?.connectivity_ts as string | undefined} />,
              ],
              [texts.facts.activity, <Time key="activity" value={entry?.lastActivity} />],
              ...(may('alert:read')
                ? [[texts.facts.alerts, <OpenAlerts key="alerts" {...alerts} />] as [string, React.ReactNode]]
                : []),
              [
                texts.facts.application,
                <Link key="application" to={`/applications/${encodeURIComponent(appName)}`}>
                  <Text value={appName} />
                </Link>,
              ],
              [texts.facts.version, <Text key="version" value={appVersion.name} />],
              [texts.facts.created, <Time key="created" value={createdDate} style="full" />],
              [texts.facts.changed, <Time key="changed" value={metadataUpdatedDate} />],
              [texts.facts.filters, count(endpoint.filters?.length ?? 0)],
            ]}
          />
        </Card>
        <Values endpoint={endpoint} mayUpdate={mayUpdate} />
      </div>
      <Messages endpointId={endpointId} />
    </>
  )
}

const Connection = ({ entry }: Pick<TabProps, 'entry'>) =>
  entry ? <ConnectionBadge state={entry.connection} /> : <Text value="" />

function OpenAlerts({ items, total = 0 }: { items: ItemOf<'alerts.list'>[]; total: number | undefined }) {
  if (items.length === 0) return <Badge tone="good">{count(0)}</Badge>
  return (
    <span className="endpoint-alerts">
      <Badge tone="bad">{count(total)}</Badge>
      {items.slice(0, 3).map(({ id, alertType }) => (
        <Text key={id} value={alertType} max={40} />
      ))}
    </span>
  )
}

function Values({ endpoint: { endpointId, appName }, mayUpdate }: Pick<TabProps, 'endpoint' | 'mayUpdate'>) {
  const last = useGet(
    'timeSeries.last.get',
    { applicationName: appName, endpointId, limit: shownPoints },
    { refreshMs },
  )
  const rows = rowsOf(last.data?.[endpointId])
  return (
    <Card title={texts.values} flush>
      {last.isLoading ? (
        <div className="card-note">
          <Loading label={texts.loading} />
        </div>
      ) : last.problem ? (
        <ErrorNote problem={last.problem} onRetry={() => void last.reload()} />
      ) : rows.length === 0 ? (
        <EmptyState
          icon="activity"
          title={texts.valuesEmptyTitle}
          actions={
            mayUpdate && (
              <LinkButton to={`/connect?endpoint=${encodeURIComponent(endpointId)}`} icon="link">
                {texts.connectDevice}
              </LinkButton>
            )
          }
        >
          {texts.valuesEmpty}
        </EmptyState>
      ) : (
        <div className="scroll-x">
          <table className="plain-table endpoint-values">
            <thead>
              <tr>
                <th scope="col">{texts.series}</th>
                <th scope="col">{texts.value}</th>
                <th scope="col">{texts.time}</th>
                <th scope="col">{texts.trend}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ id, name, last, at, points }) => (
                <tr key={id}>
                  <th scope="row">
                    <Link
                      to={`${addressOf(endpointId)}?tab=history&series=${encodeURIComponent(encodeURIComponent(id))}`}
                    >
                      <Text value={name} max={60} />
                    </Link>
                  </th>
                  <td className="number-cell">
                    <Text value={typeof last === 'number' ? count(last) : last} max={60} />
                  </td>
                  <td>
                    <Time value={at} />
                  </td>
                  <td>
                    <Sparkline values={points.map(({ value }) => value)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function Messages({ endpointId }: { endpointId: string }) {
  const traffic = useList('traffic.list', { endpointIds: endpointId, size: shownMessages }, { refreshMs })
  return (
    <Card
      title={texts.latestMessages}
      actions={<Link to={`${addressOf(endpointId)}?tab=timeline`}>{texts.toTimeline}</Link>}
      flush
    >
      {traffic.isLoading ? (
        <div className="card-note">
          <Loading label={texts.loading} />
        </div>
      ) : traffic.problem ? (
        <ErrorNote problem={traffic.problem} onRetry={traffic.reload} />
      ) : traffic.items.length === 0 ? (
        <p className="card-note quiet">{texts.messagesEmpty}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <tbody>
              {traffic.items.slice(0, shownMessages).map((message) => (
                <tr key={`${message.correlationId} ${message.direction} ${message.createdAt}`}>
                  <td className="event-time">
                    <Time value={message.createdAt} style="clock" />
                  </td>
                  <td className="event-time">{texts.direction[message.direction]}</td>
                  <td className="event-time">
                    <Text value={`${message.extension}${message.resourcePath}`} mono max={60} />
                  </td>
                  <td>
                    <Text value={message.payload} mono max={160} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
