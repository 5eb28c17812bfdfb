/** One alert setting: its scripts, the endpoints that it watches, and the recipients of its notifications. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { DeleteMenu } from '../../parts/delete-menu.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Severity } from '../../parts/severity.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { settingTexts as texts } from './setting-texts.ts'
import { SettingState, Watched } from './settings.tsx'

type Setting = BodyOf<'alertSettings.get'>
const above = [{ title: texts.title, to: '/alerts?tab=settings' }]

export default function AlertSettingPage({ params }: PageProps) {
  const alertSettingId = params.alertSettingId!
  const setting = useGet('alertSettings.get', { alertSettingId })
  const may = useMay()
  const { data } = setting
  if (setting.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={alertSettingId} above={above} />
        {setting.problem && <ErrorNote problem={setting.problem} onRetry={() => void setting.reload()} />}
      </>
    )
  const resource = `alert-setting-${alertSettingId}`
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={
          <>
            <SettingState state={data.state} /> <Severity level={data.severityLevel} />
          </>
        }
        actions={
          <>
            <AsCommand operation="alertSettings.get" args={{ alertSettingId }} />
            {may('alert-setting:update', resource) && (
              <LinkButton to={`/alerts/settings/${encodeURIComponent(alertSettingId)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {may('alert-setting:delete', resource) && <DeleteSetting setting={data} etag={setting.etag} />}
          </>
        }
      />
      <div className="columns">
        <Condition setting={data} />
        <Card title={texts.about}>
          <Facts items={factsOf(data)} />
        </Card>
        <Card title={texts.notices}>
          <Notices setting={data} />
        </Card>
      </div>
    </>
  )
}

const Condition = ({ setting: { activationExpression, resolutionExpression } }: { setting: Setting }) => (
  <Card title={texts.condition}>
    <div className="stack">
      <p>{texts.activation}</p>
      <CodeView label={texts.activation} text={activationExpression} />
      {resolutionExpression === undefined ? (
        <p>{texts.resolutionDefault}</p>
      ) : (
        <>
          <p>{texts.resolution}</p>
          <CodeView label={texts.resolution} text={resolutionExpression} />
        </>
      )}
    </div>
  </Card>
)

const factsOf = (setting: Setting): [string, React.ReactNode][] => [
  [texts.facts.type, <Text key="type" value={setting.alertType} mono />],
  [texts.facts.endpoints, <Watched key="endpoints" setting={setting} />],
  [texts.facts.message, <Text key="message" value={setting.message} max={1000} />],
  [texts.facts.description, <Text key="description" value={setting.description} max={1000} />],
  [texts.facts.id, <Text key="id" value={setting.id} mono />],
  [texts.facts.created, <Time key="created" value={setting.createdAt} style="full" />],
  [texts.facts.updated, <Time key="updated" value={setting.updatedAt} />],
]

function Notices({ setting: { emailRecipients = [], webhookUrl } }: { setting: Setting }) {
  if (emailRecipients.length === 0 && webhookUrl === undefined) return <p className="quiet">{texts.noNotices}</p>
  return (
    <Facts
      items={[
        [texts.facts.emails, <Text key="emails" value={emailRecipients.join(', ')} max={1000} />],
        [texts.facts.webhook, <Text key="webhook" value={webhookUrl} max={300} mono />],
      ]}
    />
  )
}

function DeleteSetting({ setting: { id, name, alertType }, etag }: { setting: Setting; etag: string | undefined }) {
  const [isAsked, setAsked] = useState(false)
  const open = useList('alerts.list', { alertType, state: 'OPEN', size: 1 }, { enabled: isAsked })
  const change = useChange('alertSettings.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ alertSettingId: id }, { ifMatch: etag })
    if (outcome.kind === 'conflict') toast(texts.changedMeanwhile, 'bad')
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/alerts?tab=settings')
  }
  return (
    <DeleteMenu
      objectName={texts.objectName(cut(name, 80).shown)}
      also={open.isLoading ? undefined : [{ name: texts.also.open, count: open.total ?? 0 }]}
      onOpen={() => setAsked(true)}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
    />
  )
}
