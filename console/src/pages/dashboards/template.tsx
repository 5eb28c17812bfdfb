/** Shows the dashboard template of the application version of an endpoint, filled in for this endpoint. */
import { useMemo } from 'react'
import { useGet } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import type { PageProps } from '../page-props.ts'
import type { Definition } from './definition.ts'
import { FullScreen } from './full-screen.tsx'
import { texts } from './texts.ts'
import { DashboardView } from './view.tsx'

export default function EndpointDashboardPage({ params }: PageProps) {
  const endpointId = params.endpointId!
  const endpoint = useGet('endpoints.get', { endpointId, include: 'metadata' })
  const appVersionName = endpoint.data?.appVersion.name ?? ''
  const template = useGet('dashboardTemplates.get', { appVersionName }, { enabled: appVersionName !== '' })
  const definition = (template.data as { definition: Definition } | undefined)?.definition
  const appName = endpoint.data?.appName
  const templateValues = useMemo(() => {
    const first = (kind: string) => definition?.variables?.find((variable) => variable.kind === kind)?.name
    const [application, device] = [first('application'), first('endpoint')]
    return {
      ...(application !== undefined && appName !== undefined && { [application]: appName }),
      ...(device !== undefined && { [device]: endpointId }),
    }
  }, [definition, appName, endpointId])
  const name = endpoint.data?.metadata?.name
  const shown = withoutInvisible(cut(typeof name === 'string' && name !== '' ? name : endpointId, 80).shown)
  const problem = endpoint.problem ?? template.problem
  const isMissing = template.problem?.status === 404
  return (
    <>
      <PageHeader
        title={texts.templateTitle(shown)}
        above={[
          { title: texts.endpoints, to: '/endpoints' },
          { title: shown, to: `/endpoints/${encodeURIComponent(endpointId)}` },
        ]}
        lead={definition && texts.templateOf(withoutInvisible(cut(appVersionName, 80).shown))}
        actions={definition && <FullScreen />}
      />
      {isMissing ? (
        <EmptyState
          icon="dashboard"
          title={texts.noTemplateTitle}
          actions={<LinkButton to="/dashboards">{texts.toDashboards}</LinkButton>}
        >
          {texts.noTemplateText}
        </EmptyState>
      ) : problem ? (
        <ErrorNote problem={problem} onRetry={() => void (endpoint.problem ? endpoint : template).reload()} />
      ) : definition ? (
        <DashboardView definition={definition} fixedValues={templateValues} />
      ) : (
        <Loading label={texts.loading} lines={8} />
      )}
    </>
  )
}
