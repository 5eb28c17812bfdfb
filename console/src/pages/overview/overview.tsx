/** The start page: four numbers about the endpoints, the newest endpoints, and refused messages with their reasons. */
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet, useList } from '../../api/query.ts'
import { Card, Loading, Stat } from '../../parts/card.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { texts } from './texts.ts'

const refreshMs = 15_000
const rowsMax = 6

export default function OverviewPage() {
  const may = useMay()
  const seesEndpoints = may('endpoint:read')
  const seesApplications = may('application:read')
  const counts = useGet('endpoints.counts.get', { by: 'connection' }, { enabled: seesEndpoints, refreshMs })
  const applications = useList('applications.list', {}, { enabled: seesApplications })
  const isWithoutApplications =
    seesApplications && !applications.isLoading && !applications.problem && applications.items.length === 0
  const isNew = isWithoutApplications || counts.data?.total === 0
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} />
      {isNew ? (
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
      ) : (
        <>
          <div className="stats">
            {seesEndpoints && (
              <Stat icon="cpu" label={texts.endpoints} value={texts.number(counts.data?.total)} to="/endpoints" />
            )}
            {seesEndpoints && <Connected counts={counts.data} />}
            {may('alert:read') && <Alerts />}
            {seesApplications && (
              <Stat
                icon="layers"
                label={texts.applications}
                value={texts.number(applications.isLoading ? undefined : applications.items.length)}
                to="/applications"
              />
            )}
          </div>
          <div className="columns">
            {seesEndpoints && <Newest />}
            {may('tenant:refusal:read') && <Refused />}
          </div>
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
      note={counts && counts.total > 0 && texts.connectedNote(connected, counts.total)}
      to="/endpoints?connection=connected"
    />
  )
}

function Alerts() {
  const alerts = useList('alerts.list', { state: 'OPEN', size: 1 }, { refreshMs })
  return <Stat icon="bell" label={texts.alerts} value={texts.number(alerts.total)} to="/alerts?state=OPEN" />
}

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
          <table className="plain-table">
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
                    <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
                      <Text value={endpointId} max={40} />
                    </Link>
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
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.columns.time}</th>
                <th scope="col">{texts.columns.reason}</th>
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
                    <Text value={refusal.detail ?? refusal.reason} max={120} />
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
