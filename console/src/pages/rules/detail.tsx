/** One rule: its script with triggers and actions, a test run without effects, its runs and its versions. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { Menu } from '../../parts/menu.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { PageProps } from '../page-props.ts'
import { Actions, Triggers } from './links.tsx'
import { Replay } from './replay.tsx'
import { texts } from './texts.ts'
import { outcomes, Traces } from './traces.tsx'
import { Try } from './try.tsx'
import { Versions } from './versions.tsx'

type Rule = BodyOf<'rules.get'>
const tabIds = ['rule', 'try', 'replay', 'runs', 'versions'] as const

export default function RulePage({ params }: PageProps) {
  const ruleId = params.ruleId!
  const rule = useGet('rules.get', { ruleId })
  const address = useAddressState({
    tab: oneOf(tabIds, 'rule'),
    trace: text(),
    replay: text(),
    outcome: oneOf(outcomes, ''),
    endpoint: text(),
  })
  const may = useMay()
  const above = [{ title: texts.title, to: '/rules' }]
  const { data } = rule
  if (rule.isLoading) return <Loading label={texts.loading} />
  if (!data)
    return (
      <>
        <PageHeader title={ruleId} above={above} />
        {rule.problem && <ErrorNote problem={rule.problem} onRetry={() => void rule.reload()} />}
      </>
    )
  const resource = `rule-${ruleId}`
  // The platform rejects changes of a rule that belongs to an alert setting.
  const { alertSettingId } = data
  const mayChange = alertSettingId === undefined && may('rule:update', resource)
  const tabs = tabIds.filter((tab) => !['try', 'replay'].includes(tab) || may('rule:execute', resource))
  const { tab, trace } = address.values
  return (
    <>
      <PageHeader
        title={data.name}
        above={above}
        lead={<Badge tone={data.state === 'ENABLED' ? 'good' : 'quiet'}>{texts.states[data.state]}</Badge>}
        actions={
          <>
            <AsCommand operation="rules.get" args={{ ruleId }} />
            {mayChange && <Switch rule={data} etag={rule.etag} />}
            {mayChange && (
              <LinkButton to={`/rules/${encodeURIComponent(ruleId)}/edit`} icon="edit">
                {texts.edit}
              </LinkButton>
            )}
            {alertSettingId === undefined && may('rule:delete', resource) && (
              <DeleteRule rule={data} etag={rule.etag} />
            )}
          </>
        }
      />
      {alertSettingId !== undefined && data.alertSettingPart !== undefined && (
        <Note
          action={
            <LinkButton to={`/alerts/settings/${encodeURIComponent(alertSettingId)}`}>{texts.toSetting}</LinkButton>
          }
        >
          {texts.partNotes[data.alertSettingPart]}
        </Note>
      )}
      <Tabs
        label={texts.detailTabs.label}
        current={tab}
        tabs={tabs.map((id) => ({
          id,
          title: texts.detailTabs[id],
        }))}
      >
        {tab === 'rule' && (
          <div className="columns">
            <Card title={texts.expression}>
              <CodeView label={texts.expression} text={data.expression} />
            </Card>
            <Triggers ruleId={ruleId} mayChange={mayChange} />
            <Actions ruleId={ruleId} mayChange={mayChange} />
            <Card title={texts.about}>
              <Facts items={factsOf(data)} />
            </Card>
          </div>
        )}
        {tab === 'try' && <Try key={trace} rule={data} traceId={trace} />}
        {tab === 'replay' && (
          <Replay rule={data} replayId={address.values.replay} onShow={(replay) => address.set({ replay })} />
        )}
        {tab === 'runs' && <Traces address={address} entityId={ruleId} />}
        {tab === 'versions' && <Versions ruleId={ruleId} />}
      </Tabs>
    </>
  )
}

function factsOf({ id, description, version, statistics, createdAt, updatedAt }: Rule): [string, React.ReactNode][] {
  const { avgDuration, minDuration, maxDuration, lastDuration } = statistics
  const hasRun = statistics.count > 0
  return [
    [texts.facts.id, <Text key="id" value={id} mono />],
    [texts.facts.description, <Text key="description" value={description} max={1000} />],
    [texts.facts.version, version],
    [texts.facts.runs, count(statistics.count)],
    [texts.facts.last, <Text key="last" value={hasRun ? texts.milliseconds(lastDuration) : ''} />],
    [
      texts.facts.average,
      <Text
        key="average"
        value={hasRun ? [avgDuration, minDuration, maxDuration].map(texts.milliseconds).join(', ') : ''}
      />,
    ],
    [texts.facts.created, <Time key="created" value={createdAt} style="full" />],
    [texts.facts.updated, <Time key="updated" value={updatedAt} />],
  ]
}

/** Enables or disables the rule without changing its other fields. */
function Switch({ rule, etag }: { rule: Rule; etag: string | undefined }) {
  const change = useChange('rules.update')
  const toast = useToast()
  const { name, description, expression, uiMetadata } = rule
  const isEnabled = rule.state === 'ENABLED'
  async function run() {
    const body = {
      ...{ name, expression, state: isEnabled ? ('DISABLED' as const) : ('ENABLED' as const) },
      ...(description !== undefined && { description }),
      ...(uiMetadata !== undefined && { uiMetadata }),
    }
    const outcome = await change.run({ ruleId: rule.id, body }, { ifMatch: etag })
    if (outcome.kind === 'done') toast(isEnabled ? texts.disabled : texts.enabled)
    if (outcome.kind === 'conflict') toast(texts.changedMeanwhile)
    if (outcome.kind === 'failed') toast(outcome.problem.message)
  }
  return (
    <Button icon={isEnabled ? 'pause' : 'play'} isBusy={change.isRunning} onPress={() => void run()}>
      {isEnabled ? texts.disable : texts.enable}
    </Button>
  )
}

function DeleteRule({ rule: { id, name }, etag }: { rule: Rule; etag: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const triggers = useList('rules.triggers.list', { ruleId: id }, { enabled: isOpen })
  const actions = useGet('rules.actions.list', { ruleId: id }, { enabled: isOpen })
  const { positiveActions = [], negativeActions = [] } = actions.data ?? {}
  const links = triggers.items.length + positiveActions.length + negativeActions.length
  const change = useChange('rules.delete')
  const [, navigate] = useLocation()
  const toast = useToast()
  async function remove() {
    const outcome = await change.run({ ruleId: id }, { ifMatch: etag })
    if (outcome.kind === 'conflict') toast(texts.changedMeanwhile)
    if (outcome.kind !== 'done') return
    toast(texts.deleted)
    navigate('/rules')
  }
  return (
    <>
      <Menu
        entries={[{ id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, onAction: () => setOpen(true) }]}
      />
      <ConfirmDelete
        objectName={texts.objectName(name)}
        also={[{ name: texts.also.links, count: links }]}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
