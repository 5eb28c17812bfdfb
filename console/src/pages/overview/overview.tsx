/** The start page: numbers about the endpoints, open alerts, the newest endpoints, and refused messages with their reasons. */
import { useSession } from '../../api/client.ts'
import { refusalText } from '../../api/device-messages.ts'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { Card, Loading, Stat } from '../../parts/card.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Severity } from '../../parts/severity.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { PlatformNumbers } from './platform.tsx'
import { texts } from './texts.ts'

const refreshMs = 15_000
const rowsMax = 6

export default function OverviewPage() {
  const may = useMay()
  const isPlatform = useSession().session.tenant === 'platform'
  const seesEndpoints = may('endpoint:read')
  const seesApplications = may('application:read')
  const counts = useGet('endpoints.counts.get', { by: 'connection' }, { enabled: seesEndpoints, refreshMs })
  const applications = useList('applications.list', {}, { enabled: seesApplications })
  const isWithoutApplications =
    seesApplications && !applications.isLoading && !applications.problem && applications.items.length === 0
  const isNew = isWithoutApplications || counts.data?.total === 0
  const seesNothing = !isPlatform && !seesEndpoints && !seesApplications && !may('alert:read')
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} />
      {isPlatform && (
        <div className="stats stats-many">
          <PlatformNumbers />
        </div>
      )}
      {seesNothing ? (
        <EmptyState icon="key" title={texts.nothingTitle}>
          {texts.nothingText}
        </EmptyState>
      ) : isNew ? (
        !isPlatform && (
          <EmptyState
            icon="waypost"
            title={texts.firstTitle}
            actions={
              <>
                {may('application:endpoint:create') && (
                  <LinkButton to="/connect" look="primary" icon="link">
                    {texts.connect}
                  </LinkButton>
                )}
                {isWithoutApplications && may('tenant:application:create') && (
                  <LinkButton to="/applications/new">{texts.firstAction}</LinkButton>
                )}
              </>
            }
          >
            {texts.firstText}
          </EmptyState>
        )
      ) : (
        <>
          <div className="stats stats-many">
            {seesEndpoints && (
              <Stat icon="cpu" label={texts.endpoints} value={texts.number(counts.data?.total)} to="/endpoints" />
            )}
            {seesEndpoints && <Connected counts={counts.data} />}
            {seesEndpoints && <Silent all={counts.data?.total} />}
            {may('alert:read') && <OpenAlerts />}
            <Jobs />
          </div>
          <div className="columns">
            {may('alert:read') && <Alerts />}
            {seesEndpoints && <Newest />}
          </div>
          {may('tenant:refusal:read') && <Refused />}
        </>
      )}
    </>
  )
}

function Connected({ counts }: { counts: BodyOf<'endpoints.counts.get'> | undefined }) {
  const connected = counts?.counts[0]?.values.find(({ value }) => value === 'connected')?.count ?? 0
  return (
    <Stat
      icon="wifi"
      label={texts.connected}
      value={texts.number(counts && connected)}
      note={counts && counts.total > 0 && texts.shareNote(connected, counts.total)}
      to="/endpoints?connection=connected"
    />
  )
}

function Silent({ all }: { all: number | undefined }) {
  const counts = useGet('endpoints.counts.get', { by: 'connection', activeBefore: 'now-1d' }, { refreshMs })
  const silent = counts.data?.total
  return (
    <Stat
      icon="clock"
      label={texts.silent}
      value={texts.number(silent)}
      note={silent !== undefined && all !== undefined && all > 0 && texts.shareNote(silent, all)}
      to="/endpoints?activity=silent-1d"
    />
  )
}

function Jobs() {
  const running = useList('jobs.list', { state: 'running', limit: 1 }, { refreshMs })
  const waiting = useList('jobs.list', { state: 'waiting', limit: 1 }, { refreshMs })
  return (
    <Stat
      icon="list"
      label={texts.jobs}
      value={texts.number(running.total)}
      note={waiting.total !== undefined && waiting.total > 0 && texts.jobsNote(waiting.total)}
      to="/jobs"
    />
  )
}

/** Arguments of the list of open alerts. The number and the table of alerts have the same arguments, so the list is read only once. */
const openAlerts = { state: 'OPEN' as const, sort: 'startedAt' as const, sortOrder: 'desc' as const, size: rowsMax }
const useOpenAlerts = () => useList('alerts.list', openAlerts, { refreshMs })

function OpenAlerts() {
  return <Stat icon="bell" label={texts.alerts} value={texts.number(useOpenAlerts().total)} to="/alerts?state=OPEN" />
}

function Alerts() {
  const list = useOpenAlerts()
  if (list.isLoading) return <Loading label={texts.alerts} />
  return (
    <Card
      title={texts.alerts}
      flush={list.items.length > 0}
      actions={<Link to="/alerts?state=OPEN">{texts.allAlerts}</Link>}
    >
      {list.problem ? (
        <ErrorNote problem={list.problem} onRetry={list.reload} />
      ) : list.items.length === 0 ? (
        <p className="quiet">{texts.alertsNone}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table breaks">
            <thead>
              <tr>
                <th scope="col">{texts.columns.type}</th>
                <th scope="col">{texts.columns.severity}</th>
                <th scope="col">{texts.columns.endpoint}</th>
                <th scope="col">{texts.columns.since}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.slice(0, rowsMax).map(({ id, alertType, severityLevel, entityType, entityId, startedAt }) => (
                <tr key={id}>
                  <th scope="row">
                    <Link to={`/alerts/${encodeURIComponent(id)}`}>
                      <Text value={alertType} max={40} />
                    </Link>
                  </th>
                  <td>
                    <Severity level={severityLevel} />
                  </td>
                  <td>{entityType === 'ENDPOINT' && <EndpointLink endpointId={entityId} />}</td>
                  <td>
                    <Time value={startedAt} />
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

const EndpointLink = ({ endpointId }: { endpointId: string }) => (
  <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
    <Text value={endpointId} max={40} />
  </Link>
)

const newest = { sort: 'createdDate', sortOrder: 'desc' as const, limit: rowsMax }

function Newest() {
  const list = useList('endpoints.directory.list', newest, { refreshMs })
  if (list.isLoading) return <Loading label={texts.newest} />
  return (
    <Card title={texts.newest} flush actions={<Link to="/endpoints?sort=-created">{texts.allEndpoints}</Link>}>
      {list.problem ? (
        <ErrorNote problem={list.problem} onRetry={list.reload} />
      ) : list.items.length === 0 ? (
        <div className="card-note">
          <LinkButton to="/connect" icon="link">
            {texts.connect}
          </LinkButton>
        </div>
      ) : (
        <div className="scroll-x">
          <table className="plain-table breaks">
            <thead>
              <tr>
                <th scope="col">{texts.columns.id}</th>
                <th scope="col">{texts.columns.version}</th>
                <th scope="col">{texts.columns.created}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map(({ endpointId, appVersion, createdDate }) => (
                <tr key={endpointId}>
                  <th scope="row">
                    <EndpointLink endpointId={endpointId} />
                  </th>
                  <td>
                    <Text value={appVersion.name} max={40} />
                  </td>
                  <td>
                    <Time value={createdDate} />
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

function Refused() {
  const list = useList('refusals.list', { size: rowsMax }, { refreshMs })
  if (list.isLoading) return <Loading label={texts.refused} />
  return (
    <Card title={texts.refused} flush={list.items.length > 0}>
      {list.problem ? (
        <ErrorNote problem={list.problem} onRetry={list.reload} />
      ) : list.items.length === 0 ? (
        <p className="quiet">{texts.refusedNone}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table breaks">
            <thead>
              <tr>
                <th scope="col">{texts.columns.time}</th>
                <th scope="col">{texts.columns.reason}</th>
                <th scope="col">{texts.columns.from}</th>
              </tr>
            </thead>
            <tbody>
              {list.items.slice(0, rowsMax).map((refusal, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: refusals have no id
                <tr key={index}>
                  <th scope="row">
                    <Time value={refusal.createdAt} />
                  </th>
                  <td>
                    <Text value={refusalText(refusal)} max={200} />
                  </td>
                  <td>
                    {refusal.endpointId ? (
                      <EndpointLink endpointId={refusal.endpointId} />
                    ) : (
                      <Text value={refusal.appVersionName ?? refusal.address} max={40} />
                    )}
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
