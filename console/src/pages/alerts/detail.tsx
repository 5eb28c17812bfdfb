/** One alert: its fields, its history, and the actions that a user can take. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useLive } from '../../api/live.ts'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { useSubjectNames } from '../../api/subject-names.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { DeleteMenu } from '../../parts/delete-menu.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { AlertState, Severity } from '../../parts/severity.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { texts } from './texts.ts'

type Alert = BodyOf<'alerts.get'>

export default function AlertPage({ params }: PageProps) {
  const alertId = params.alertId!
  const alert = useGet('alerts.get', { alertId })
  const events = useList('alerts.lifecycleEvents.list', { alertId })
  const readAgain = () => {
    void alert.reload()
    events.reload()
  }
  useLive([{ topic: 'alerts' }], {
    onItems: (items) => items.some(({ id }) => id === alertId) && readAgain(),
    onGap: readAgain,
  })
  const may = useMay()
  const above = [{ title: texts.title, to: '/alerts' }]
  const { data } = alert
  if (alert.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={alertId} above={above} />
        {alert.problem && <ErrorNote problem={alert.problem} onRetry={() => void alert.reload()} />}
      </>
    )
  return (
    <>
      <PageHeader
        title={data.alertType}
        above={above}
        actions={
          <>
            <AsCommand operation="alerts.get" args={{ alertId }} />
            {may('alert:update') && <Acknowledge alert={data} />}
            {may('alert:update') && data.state === 'OPEN' && <Resolve alertId={alertId} />}
            {may('alert:delete') && <DeleteAlert alert={data} />}
          </>
        }
      />
      <div className="columns">
        <Card title={texts.about}>
          <Facts items={factsOf(data)} />
        </Card>
        <Card title={texts.history}>
          {events.items.length === 0 ? <p>{texts.historyEmpty}</p> : <History events={events.items} />}
        </Card>
        <Card title={texts.metadata}>
          <JsonView value={data.metadata} label={texts.metadata} />
        </Card>
      </div>
    </>
  )
}

const factsOf = (alert: Alert): [string, React.ReactNode][] => [
  [texts.facts.state, <AlertState key="state" state={alert.state} acknowledgement={alert.acknowledgement} />],
  [texts.facts.severity, <Severity key="severity" level={alert.severityLevel} />],
  [texts.facts.message, <Text key="message" value={alert.message} max={1000} />],
  [
    texts.facts.entity,
    alert.entityType === 'TENANT' ? (
      texts.tenant
    ) : (
      <Link key="entity" to={`/endpoints/${encodeURIComponent(alert.entityId)}`}>
        <Text value={alert.entityId} />
      </Link>
    ),
  ],
  ...(alert.alertSettingId === undefined
    ? []
    : [
        [texts.facts.setting, <SettingLink key="setting" alertSettingId={alert.alertSettingId} />] as [
          string,
          React.ReactNode,
        ],
      ]),
  [texts.facts.started, <Time key="started" value={alert.startedAt} style="full" />],
  [texts.facts.active, <Time key="active" value={alert.lastActiveAt} />],
  [texts.facts.resolved, <Time key="resolved" value={alert.resolvedAt} style="full" />],
  [texts.facts.resolveReason, <Text key="reason" value={alert.resolveReason} max={1000} />],
]

/** Links to the alert setting. The text is the name of the setting, or its id if the caller may not read the setting. */
function SettingLink({ alertSettingId }: { alertSettingId: string }) {
  const may = useMay()
  const enabled = may('alert-setting:read', `alert-setting-${alertSettingId}`)
  const { data } = useGet('alertSettings.get', { alertSettingId }, { enabled })
  return (
    <Link to={`/alerts/settings/${encodeURIComponent(alertSettingId)}`}>
      <Text value={data?.name ?? alertSettingId} max={100} mono={data === undefined} />
    </Link>
  )
}

interface LifecycleEvent {
  id: string
  eventType: string
  createdAt: string
  userId?: string
}

function History({ events }: { events: LifecycleEvent[] }) {
  const names = useSubjectNames()
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th>{texts.historyColumns.time}</th>
            <th>{texts.historyColumns.event}</th>
            <th>{texts.historyColumns.by}</th>
          </tr>
        </thead>
        <tbody>
          {events.map(({ id, eventType, createdAt, userId }) => (
            <tr key={id}>
              <td>
                <Time value={createdAt} style="full" />
              </td>
              <td>
                <Text value={texts.events[eventType] ?? eventType} />
              </td>
              <td>
                <Text value={names.get(userId ?? '') ?? userId} max={40} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Acknowledge({ alert: { id, acknowledgement } }: { alert: Alert }) {
  const change = useChange('alerts.acknowledgement.update')
  const toast = useToast()
  const isAcknowledged = acknowledgement === 'ACKNOWLEDGED'
  async function run() {
    const next = isAcknowledged ? 'UNACKNOWLEDGED' : 'ACKNOWLEDGED'
    const outcome = await change.run({ alertId: id, body: { acknowledgement: next } })
    if (outcome.kind === 'done') toast(isAcknowledged ? texts.takenBack : texts.acknowledged)
    if (outcome.kind === 'failed') toast(outcome.problem.message)
  }
  return (
    <Button
      look={isAcknowledged ? 'plain' : 'primary'}
      icon="check"
      isBusy={change.isRunning}
      onPress={() => void run()}
    >
      {isAcknowledged ? texts.takeBack : texts.acknowledge}
    </Button>
  )
}

function Resolve({ alertId }: { alertId: string }) {
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const change = useChange('alerts.resolution.update')
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await change.run({
      alertId,
      body: { ...(reason.trim() !== '' && { reason: reason.trim() }) },
    })
    if (outcome.kind !== 'done') return
    setOpen(false)
    toast(texts.resolved)
  }
  return (
    <>
      <Button onPress={() => setOpen(true)}>{texts.resolve}</Button>
      <Dialog title={texts.resolveTitle} isOpen={isOpen} onClose={() => setOpen(false)}>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <p>{texts.resolveNote}</p>
          <TextField label={texts.reason} name="reason" value={reason} onChange={setReason} lines={2} autoFocus />
          {change.problem && <ErrorNote problem={change.problem} />}
          <div className="form-actions">
            <CancelButton onPress={() => setOpen(false)} />
            <Button look="primary" type="submit" isBusy={change.isRunning}>
              {texts.resolve}
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  )
}

function DeleteAlert({ alert: { id, alertType } }: { alert: Alert }) {
  const change = useChange('alerts.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ alertId: id })
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/alerts')
  }
  return (
    <DeleteMenu
      objectName={texts.objectName(alertType)}
      isBusy={change.isRunning}
      problem={change.problem}
      onConfirm={() => void remove()}
    />
  )
}
