/** Runs a rule, or a changed script, on a sample or on the event of an earlier run. Nothing is sent or changed. */
import { type FormEvent, useState } from 'react'
import type { ArgumentsOf, BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { kindTexts } from './kind-texts.ts'
import { sampleOf, type TriggerType, triggerTypes } from './kinds.ts'
import { texts } from './texts.ts'
import { TraceTable } from './traces.tsx'

type Rule = BodyOf<'rules.get'>
type Result = BodyOf<'rules.try'>

const kinds = ['sample', 'trace'] as const
const pretty = (value: unknown) => JSON.stringify(value, null, 2)
const firstType: TriggerType = 'endpoint-data-samples-received'

interface Props {
  rule: Rule
  traceId: string
  /** A script that the user edits elsewhere on the page. Without it, this card has its own editor. */
  script?: string
}

export function Try({ rule, traceId, script }: Props) {
  const [kind, setKind] = useState<(typeof kinds)[number]>(traceId === '' ? 'sample' : 'trace')
  const [trace, setTrace] = useState(traceId)
  const [endpointId, setEndpoint] = useState('')
  const [type, setType] = useState<TriggerType>(firstType)
  const [trigger, setTrigger] = useState(pretty(sampleOf[firstType]))
  const [ownScript, setOwnScript] = useState(rule.expression)
  const expression = script ?? ownScript
  useUnsaved(endpointId !== '' || trigger !== pretty(sampleOf[type]) || ownScript !== rule.expression)
  const [wrong, setWrong] = useState<string>()
  const [result, setResult] = useState<Result>()
  const change = useChange('rules.try')
  const sample = parseJson(trigger)
  const body: NonNullable<ArgumentsOf<'rules.try'>['body']> = {
    ...(kind === 'trace' ? { traceId: trace.trim() } : { trigger: (sample.value ?? {}) as Record<string, unknown> }),
    ...(kind === 'sample' && endpointId.trim() !== '' && { endpointId: endpointId.trim() }),
    ...(expression !== rule.expression && { expression }),
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const notJson = kind === 'sample' ? sample.problem : undefined
    setWrong(notJson)
    if (notJson) return
    setResult(undefined)
    const outcome = await change.run({ ruleId: rule.id, body })
    if (outcome.kind === 'done') setResult(outcome.body)
  }
  return (
    <div className="columns">
      <Card title={texts.detailTabs.try}>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <p className="quiet">{texts.tryLead}</p>
          <Segments
            label={texts.tryKind}
            options={kinds.map((value) => ({ value, label: texts.tryKinds[value] }))}
            value={kind}
            onChange={(value) => setKind(value)}
          />
          {kind === 'trace' ? (
            <TextField
              label={texts.trace}
              name="traceId"
              value={trace}
              onChange={setTrace}
              description={texts.traceNote}
              isRequired
              mono
            />
          ) : (
            <>
              <SelectField
                label={texts.event}
                value={type}
                onChange={(value) => {
                  const chosen = triggerTypes.find((known) => known === value) ?? type
                  setType(chosen)
                  setTrigger(pretty(sampleOf[chosen]))
                }}
                options={triggerTypes.map((value) => ({ value, label: kindTexts.types[value] ?? value }))}
                isRequired
              />
              <TextField
                label={texts.endpoint}
                name="endpointId"
                value={endpointId}
                onChange={setEndpoint}
                description={texts.endpointNote}
                mono
              />
              <JsonField
                label={texts.trigger}
                name="trigger"
                value={trigger}
                onChange={setTrigger}
                description={texts.triggerNote}
                problem={wrong}
              />
            </>
          )}
          {script === undefined ? (
            <ScriptField value={ownScript} onChange={setOwnScript} />
          ) : (
            <p className="quiet">{texts.tryEdited}</p>
          )}
          {change.problem && <ErrorNote problem={change.problem} />}
          <div className="form-actions">
            <AsCommand operation="rules.try" args={{ ruleId: rule.id, body }} />
            <Button look="primary" icon="play" type="submit" isBusy={change.isRunning}>
              {texts.run}
            </Button>
          </div>
        </form>
      </Card>
      {result && <TryResult result={result} />}
    </div>
  )
}

const ScriptField = (field: { value: string; onChange(text: string): void }) => (
  <JsonField
    label={texts.tryExpression}
    name="expression"
    {...field}
    description={texts.tryExpressionNote}
    language="javascript"
  />
)

function meaningOf(value: string) {
  if (value === 'false') return texts.returned.negative
  return ['null', 'undefined', ''].includes(value) ? texts.returned.none : texts.returned.positive
}

function TryResult({ result: { returnedValue, traces, effects } }: { result: Result }) {
  const isFailed = traces.some(({ outcome }) => outcome === 'FAILURE')
  return (
    <Card title={texts.tryTraces}>
      <div className="stack">
        <Note tone={isFailed ? 'warn' : 'good'}>
          <Text value={texts.tryReturned(returnedValue)} max={400} /> {returnedValue !== '' && meaningOf(returnedValue)}
        </Note>
        <TraceTable traces={traces} />
        <h3>{texts.effects}</h3>
        {effects.length === 0 && <p className="quiet">{texts.noEffects}</p>}
        {effects.map(({ actionId, type, wouldDo }) => (
          <section key={`${actionId} ${type}`}>
            <p>
              <strong>{kindTexts.types[type] ?? <Text value={type} />}</strong>
            </p>
            <JsonView label={texts.effectColumns.effect} value={wouldDo} />
          </section>
        ))}
      </div>
    </Card>
  )
}
