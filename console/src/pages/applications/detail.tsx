/** One application: facts, versions, deletion. */
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { DeleteMenu } from '../../parts/delete-menu.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'
import { Versions } from './versions.tsx'

type Application = BodyOf<'applications.get'>

export default function ApplicationPage({ params }: PageProps) {
  const appName = params.appName!
  const application = useGet('applications.get', { appName })
  const endpoints = useList('endpoints.list', { applicationName: appName, limit: 1 })
  const may = useMay()
  const { data } = application
  const above = [{ title: texts.title, to: '/applications' }]
  if (application.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={appName} above={above} />
        {application.problem && <ErrorNote problem={application.problem} onRetry={() => void application.reload()} />}
      </>
    )
  const resource = `application-${appName}`
  return (
    <>
      <PageHeader
        title={data.displayName ?? data.name}
        above={above}
        actions={
          <>
            <AsCommand operation="applications.get" args={{ appName }} />
            {may('application:update', resource) && (
              <LinkButton to={`/applications/${encodeURIComponent(appName)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {may('application:delete', resource) && (
              <DeleteApplication application={data} etag={application.etag} endpoints={endpoints.total} />
            )}
          </>
        }
      />
      <div className="columns">
        <Card title={texts.about}>
          <Facts
            items={[
              [texts.facts.name, <Text key="name" value={data.name} mono />],
              [texts.facts.description, <Text key="description" value={data.description} max={1000} />],
              [
                texts.facts.endpoints,
                <Link key="endpoints" to={`/endpoints?application=${encodeURIComponent(appName)}`}>
                  {texts.endpoints(endpoints.total)}
                </Link>,
              ],
              [texts.facts.created, <Time key="created" value={data.createdDate} style="full" />],
              [texts.facts.updated, <Time key="updated" value={data.updatedDate} />],
            ]}
          />
        </Card>
        <Versions application={data} mayChange={may('application:update', resource)} />
      </div>
    </>
  )
}

interface DeleteProps {
  application: Application
  etag: string | undefined
  endpoints: number | undefined
}

function DeleteApplication({ application: { name, versions }, etag, endpoints }: DeleteProps) {
  const change = useChange('applications.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ appName: name }, { ifMatch: etag })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/applications')
  }
  return (
    <DeleteMenu
      objectName={texts.objectName(name)}
      also={[
        { name: texts.also.versions, count: versions.length },
        { name: texts.also.endpoints, count: endpoints ?? 0 },
      ]}
      confirmationWord={name}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
    />
  )
}
