/** One dashboard: its widgets, or its versions. */
import { Suspense } from 'react'
import { useSearch } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Loading } from '../../parts/card.tsx'
import { lazyFile } from '../../parts/lazy-file.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import type { PageProps } from '../page-props.ts'
import { addressOf, DashboardActions } from './actions.tsx'
import type { Dashboard } from './definition.ts'
import { FullScreen } from './full-screen.tsx'
import { texts } from './texts.ts'
import { DashboardView } from './view.tsx'

const Versions = lazyFile(() => import('./versions.tsx'))

/** The dashboard is read again at this interval, because another user may change it while a screen shows it. */
const refreshMs = 60_000
const above = [{ title: texts.title, to: '/dashboards' }]

export default function DashboardPage({ params }: PageProps) {
  const dashboardId = params.dashboardId!
  const read = useGet('dashboards.get', { dashboardId }, { refreshMs })
  const dashboard = read.data as Dashboard | undefined
  const may = useMay()
  const isVersions = new URLSearchParams(useSearch()).get('tab') === 'versions'
  if (read.isLoading) return <Loading label={texts.loading} lines={8} />
  if (!dashboard)
    return (
      <>
        <PageHeader title={texts.title} above={above} />
        {read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />}
      </>
    )
  const mayUpdate = may('dashboard:update', `dashboard-${dashboardId}`)
  const { name, description, version, definition } = dashboard
  return (
    <>
      <PageHeader
        title={isVersions ? texts.versionsOf(withoutInvisible(cut(name, 80).shown)) : name}
        above={isVersions ? [...above, { title: name, to: addressOf(dashboardId) }] : above}
        lead={description && <Text value={description} max={400} />}
        actions={
          <>
            <AsCommand operation="dashboards.get" args={{ dashboardId }} />
            {!isVersions && <FullScreen />}
            {mayUpdate && (
              <LinkButton to={`${addressOf(dashboardId)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            <DashboardActions dashboardId={dashboardId} name={name} />
          </>
        }
      />
      {read.problem && <ErrorNote problem={read.problem} onRetry={() => void read.reload()} />}
      {isVersions ? (
        <Suspense fallback={<Loading label={texts.loading} />}>
          <Versions dashboard={dashboard} etag={read.etag} mayRestore={mayUpdate} />
        </Suspense>
      ) : definition.widgets.length === 0 ? (
        <EmptyState
          icon="dashboard"
          title={texts.noWidgetsTitle}
          actions={
            mayUpdate && (
              <LinkButton to={`${addressOf(dashboardId)}/edit`} look="primary" icon="edit">
                {texts.edit}
              </LinkButton>
            )
          }
        >
          {mayUpdate ? texts.noWidgetsText : texts.noWidgetsReader}
        </EmptyState>
      ) : (
        // The key remounts the view when the version changes, because the URL contains values of the variables of this version.
        <DashboardView key={`${dashboardId} ${version}`} definition={definition} />
      )}
    </>
  )
}
