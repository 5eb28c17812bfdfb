/** A list of alerts, which is read again when an alert changes. */
import { useList } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { AlertState, Severity } from '../../parts/severity.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useDashboard } from './context.tsx'
import { titleOf, type WidgetOf } from './definition.ts'
import { useEndpoints } from './endpoint-fields.tsx'
import { WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

const limitDefault = 100
/**
 * Maximum number of endpoints of an application or filter whose alerts the widget reads. The API cannot select alerts by application or
 * filter, so the request names the endpoints, of which `alerts.search` accepts 1,000.
 */
const endpointsMax = 1_000
const refreshMs = 30_000

const known = (values: readonly string[] | undefined, allowed: readonly string[]) =>
  values?.map((word) => word.toUpperCase()).filter((word) => allowed.includes(word)) ?? []
/** Returns the states as the API names them. Some dashboards call open alerts "active". */
const statesOf = (states: readonly string[] | undefined) =>
  known(
    states?.map((state) => (state.toUpperCase() === 'ACTIVE' ? 'OPEN' : state)),
    ['OPEN', 'RESOLVED'],
  )

const noneOpen = (endpointId: string | undefined) =>
  endpointId === undefined ? texts.noAlerts : texts.noAlertsOf(withoutInvisible(cut(endpointId, 60).shown))

export function AlertsWidget({ widget }: { widget: WidgetOf<'alerts'> }) {
  const { application, filter, endpoint, limit = limitDefault } = widget
  const dashboard = useDashboard()
  const endpointId = dashboard.chosen('endpoint', endpoint)
  const isNarrowed =
    endpointId === undefined &&
    (dashboard.chosen('application', application) !== undefined ||
      (filter !== undefined && dashboard.chosen('filter', filter) !== undefined))
  const members = useEndpoints({ application, filter, limit: endpointsMax, enabled: isNarrowed })
  const states = statesOf(widget.states)
  const severities = known(widget.severities, ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'INFO'])
  const entityIds = isNarrowed ? members.items.map(({ endpointId }) => endpointId) : endpointId
  const body = {
    ...{ state: states.length === 0 ? ['OPEN'] : states, size: limit },
    ...(severities.length > 0 && { severityLevel: severities }),
    ...(entityIds !== undefined && { entityType: 'ENDPOINT', entityIds }),
  }
  const list = useList(
    'alerts.search',
    { body },
    {
      enabled: !isNarrowed || members.isRead,
      ...(dashboard.refreshMs !== undefined && { refreshMs: Math.max(refreshMs, dashboard.refreshMs) }),
    },
  )
  if (endpoint !== undefined && endpointId === undefined) return <WidgetNote>{texts.chooseEndpoint}</WidgetNote>
  const problem = list.problem ?? members.problem
  if (problem) return <ErrorNote problem={problem} onRetry={list.problem ? list.reload : members.reload} />
  if (list.isLoading || members.isLoading) return <Loading label={texts.loading} lines={5} />
  const alerts = list.items.slice(0, limit)
  const isDefault = states.length === 0 && severities.length === 0
  return (
    <>
      {isNarrowed && members.hasMore && <WidgetNote tone="warn">{texts.firstOnly(endpointsMax)}</WidgetNote>}
      {alerts.length === 0 ? (
        <WidgetNote icon="check">{!isDefault ? texts.noAlertsOther : noneOpen(endpointId)}</WidgetNote>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
        <section className="widget-scroll" tabIndex={0} aria-label={withoutInvisible(cut(titleOf(widget), 80).shown)}>
          <ul className="widget-alerts">
            {alerts.map((alert) => (
              <li key={alert.id}>
                <Severity level={alert.severityLevel} />
                <span className="widget-alert-texts">
                  <Link to={`/alerts/${encodeURIComponent(alert.id)}`}>
                    <Text value={alert.alertType} max={80} />
                  </Link>
                  {alert.message && (
                    <span>
                      <Text value={alert.message} max={160} />
                    </span>
                  )}
                  <span className="quiet">
                    {alert.entityType === 'TENANT' ? texts.tenant : <Text value={alert.entityId} max={60} />}
                    {' · '}
                    <Time value={alert.startedAt} />
                  </span>
                </span>
                {alert.state !== 'OPEN' && <AlertState state={alert.state} acknowledgement={alert.acknowledgement} />}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
