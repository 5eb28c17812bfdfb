/**
 * Replays a rule, or a changed script, over recorded messages. Shows the progress and the results that differ, and can cancel the replay.
 */
import { type FormEvent, useState } from 'react'
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { EarlierReplays, ReplayResult } from './replay-result.tsx'
import { replayTexts as texts } from './replay-texts.ts'

type Rule = BodyOf<'rules.get'>

const idsOf = (typed: string) => typed.split(/[\s,]+/).filter(Boolean)

export function Replay({ rule, replayId, onShow }: { rule: Rule; replayId: string; onShow(id: string): void }) {
  const { id: ruleId } = rule
  return (
    <div className="columns">
      <ReplayForm rule={rule} onStarted={onShow} />
      <div className="stack">
        {replayId !== '' && <ReplayResult key={replayId} ruleId={ruleId} replayId={replayId} />}
        <EarlierReplays ruleId={ruleId} shown={replayId} onShow={onShow} />
      </div>
    </div>
  )
}

function ReplayForm({ rule, onStarted }: { rule: Rule; onStarted(id: string): void }) {
  const create = useChange('rules.replays.create')
  const [period, setPeriod] = useState('now-1d')
  const form = useForm({ from: 'now-1d', to: 'now', endpointIds: '', expression: rule.expression }, create.problem)
  const { from, to, endpointIds, expression } = form.values
  const ids = idsOf(endpointIds)
  const body: ArgumentsOf<'rules.replays.create'>['body'] = {
    ...(period === 'other' ? { from, to } : { from: period, to: 'now' }),
    ...(ids.length > 0 && { endpointIds: ids }),
    ...(expression !== rule.expression && { expression }),
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ ruleId: rule.id, body })
    if (outcome.kind !== 'done') return
    form.markSaved()
    onStarted(outcome.body.replayId)
  }
  return (
    <Card title={texts.title}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <p className="quiet">{texts.lead}</p>
        <SelectField
          label={texts.period}
          value={period}
          onChange={setPeriod}
          options={Object.entries(texts.periods).map(([value, label]) => ({ value, label }))}
          isRequired
        />
        {period === 'other' && (
          <>
            <TextField label={texts.from} {...form.field('from')} description={texts.timeNote} isRequired mono />
            <TextField label={texts.to} {...form.field('to')} isRequired mono />
          </>
        )}
        <TextField label={texts.endpoints} {...form.field('endpointIds')} description={texts.endpointsNote} mono />
        <JsonField
          label={texts.expression}
          {...form.field('expression')}
          description={texts.expressionNote}
          language="javascript"
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="rules.replays.create" args={{ ruleId: rule.id, body }} />
          <Button look="primary" icon="play" type="submit" isBusy={create.isRunning}>
            {texts.start}
          </Button>
        </div>
      </form>
    </Card>
  )
}
