/** A button that sends a command to an endpoint. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import { useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { nowMs, Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useDashboard } from './context.tsx'
import { titleOf, type WidgetOf } from './definition.ts'
import { LocatedNotes, WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

const ttlMs = 3_600_000

export function CommandWidget({ widget, isActive }: { widget: WidgetOf<'command'>; isActive: boolean }) {
  const { commandType, payload, label, confirm } = widget
  const dashboard = useDashboard()
  const endpointId = dashboard.chosen('endpoint', widget.endpoint)
  const send = useChange('commands.send')
  const may = useMay()
  const toast = useToast()
  const [isAsking, setAsking] = useState(false)
  const [sentAt, setSentAt] = useState<number>()
  const application = endpointId === undefined ? undefined : dashboard.applicationOf(endpointId)
  if (endpointId === undefined)
    return <LocatedNotes located={{ found: [], missing: [], unchosen: 1, isLoading: false }} />
  if (application?.kind === 'missing')
    return <LocatedNotes located={{ found: [], missing: [endpointId], unchosen: 0, isLoading: false }} />
  const resources = [
    `endpoint-${endpointId}`,
    ...(application?.kind === 'known' ? [`application-${application.name}`] : []),
  ]
  const isAllowed = may('endpoint:update', ...resources)

  async function run() {
    const outcome = await send.run({
      ...{ endpointId: endpointId!, commandType, awaitTimeout: 0, commandTtl: ttlMs },
      body: payload as never,
    })
    if (outcome.kind !== 'done') return
    setAsking(false)
    setSentAt(nowMs())
    toast(texts.sent(withoutInvisible(cut(commandType, 60).shown)))
  }
  const text = withoutInvisible(cut(label || commandType || titleOf(widget), 60).shown)
  return (
    <div className="widget-command">
      <Button
        look="primary"
        icon="send"
        isBusy={send.isRunning}
        isDisabled={!isAllowed || commandType === '' || !isActive}
        onPress={() => (confirm ? setAsking(true) : void run())}
      >
        {text}
      </Button>
      <p className="quiet">
        <Text value={endpointId} max={60} mono />
        {sentAt !== undefined && (
          <>
            {' · '}
            {texts.lastSent} <Time value={sentAt} />
          </>
        )}
      </p>
      {!isAllowed && <WidgetNote icon="lock">{texts.mayNotSend}</WidgetNote>}
      {!isAsking && send.problem && <ErrorNote problem={send.problem} />}
      {isAsking && (
        <Confirm
          title={texts.confirmTitle}
          action={texts.send}
          isOpen
          isBusy={send.isRunning}
          problem={send.problem}
          onConfirm={() => void run()}
          onClose={() => setAsking(false)}
        >
          <Text value={confirm} max={300} />
        </Confirm>
      )}
    </div>
  )
}
