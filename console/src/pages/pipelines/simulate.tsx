/** Simulates a stored pipeline, or the pipeline that the user edits, with a document. Shows the document after each processor. */
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Difference } from '../../parts/difference.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { type Definition, pretty } from './definition.ts'
import { texts } from './texts.ts'

interface Step {
  processor_type: string
  tag?: string
  status: string
  doc?: { _source: Record<string, unknown> }
  doc_omitted?: boolean
  error?: { reason?: string; caused_by?: { reason?: string } }
  ignored_error?: { error: { reason?: string } }
}

const firstDocument = pretty({
  endpointId: 'oven-1',
  '@timestamp': '2026-01-01T10:00:00Z',
  dataSample: { celsius: 21.5 },
})
const stepsMax = 50
const tones: Record<string, Tone> = { success: 'good', skipped: 'quiet', dropped: 'warn', error: 'bad' }

/** Simulates the stored pipeline `pipelineID`, or else `definition`, which is undefined while the typed text is not valid JSON. */
export function Simulate(props: { pipelineID: string } | { definition: Definition | undefined }) {
  const [typed, setTyped] = useState(firstDocument)
  useUnsaved(typed !== firstDocument)
  const [wrong, setWrong] = useState<string>()
  const [ran, setRan] = useState<{ before: Record<string, unknown>; steps: Step[] }>()
  const stored = useChange('ingest.pipelines.preview')
  const inline = useChange('ingest.pipelines.inline.preview')
  const { value, problem } = parseJson(typed)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const source = (isObject ? value : {}) as Record<string, unknown>
  const docs = [{ _source: source }]
  const isStored = 'pipelineID' in props
  const definition = 'definition' in props ? props.definition : undefined
  async function submit(event: FormEvent) {
    event.preventDefault()
    const notUsable = problem ?? (isObject ? undefined : texts.notObject)
    setWrong(notUsable)
    if (notUsable) return
    setRan(undefined)
    const outcome = isStored
      ? await stored.run({ pipelineID: props.pipelineID, verbose: true, body: { docs } })
      : await inline.run({ verbose: true, body: { pipeline: definition ?? { processors: [] }, docs } })
    if (outcome.kind !== 'done') return
    const [result] = outcome.body.docs as { processor_results?: Step[] }[]
    setRan({ before: source, steps: result?.processor_results ?? [] })
  }
  const failed = stored.problem ?? inline.problem
  return (
    <>
      <Card title={texts.try}>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <p className="quiet">{texts.tryLead}</p>
          <JsonField
            label={texts.document}
            name="_source"
            value={typed}
            onChange={setTyped}
            description={texts.documentNote}
            problem={wrong}
          />
          {failed && <ErrorNote problem={failed} />}
          <div className="form-actions">
            {isStored ? (
              <AsCommand
                operation="ingest.pipelines.preview"
                args={{ pipelineID: props.pipelineID, verbose: true, body: { docs } }}
              />
            ) : (
              <AsCommand
                operation="ingest.pipelines.inline.preview"
                args={{ verbose: true, body: { pipeline: definition ?? { processors: [] }, docs } }}
              />
            )}
            <Button
              look={isStored ? 'primary' : 'plain'}
              icon="play"
              type="submit"
              isBusy={stored.isRunning || inline.isRunning}
              isDisabled={!isStored && definition === undefined}
            >
              {texts.run}
            </Button>
          </div>
        </form>
      </Card>
      {ran && <Outcome before={ran.before} steps={ran.steps} />}
    </>
  )
}

function Outcome({ before, steps }: { before: Record<string, unknown>; steps: Step[] }) {
  const last = steps.at(-1)
  const end = steps.findLast(({ doc }) => doc !== undefined)?.doc?._source ?? before
  const documents = [before, ...steps.map(({ doc }) => doc?._source)]
  /** Returns the document before a step: the document of the last earlier step that has a document, else the document of the user. */
  const beforeStep = (index: number) => documents.slice(0, index + 1).findLast((one) => one !== undefined) ?? before
  return (
    <Card title={texts.steps}>
      <div className="stack">
        {steps.length === 0 && <p className="quiet">{texts.noProcessors}</p>}
        <ol className="pipeline-steps">
          {steps.slice(0, stepsMax).map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: processors have no other name than their position
            <li key={index}>
              <StepResult step={step} number={index + 1} before={beforeStep(index)} />
            </li>
          ))}
        </ol>
        {steps.length > stepsMax && <p className="quiet">{texts.moreSteps(steps.length - stepsMax)}</p>}
        {last?.status === 'error' && <Note tone="warn">{texts.failedEnd}</Note>}
        {last?.status === 'dropped' && <Note tone="warn">{texts.droppedEnd}</Note>}
        {last?.status !== 'error' && last?.status !== 'dropped' && !last?.doc_omitted && (
          <section>
            <h3>{texts.result}</h3>
            <JsonView label={texts.result} value={end} />
          </section>
        )}
      </div>
    </Card>
  )
}

function StepResult({ step, number, before }: { step: Step; number: number; before: Record<string, unknown> }) {
  const { processor_type: type, tag, status, doc, error, ignored_error: ignored } = step
  const reason = error?.caused_by?.reason ?? error?.reason ?? ignored?.error.reason
  const [was, is] = [pretty(before), doc && pretty(doc._source)]
  return (
    <>
      <span className="pipeline-step-head">
        <strong>
          <Text value={type} max={60} />
        </strong>
        {tag !== undefined && <Text value={tag} max={60} />}
        <Badge tone={tones[status] ?? 'warn'}>{texts.statuses[status] ?? status}</Badge>
      </span>
      {reason !== undefined && (
        <span className="pipeline-reason">
          <Text value={reason} max={600} />
        </span>
      )}
      {step.doc_omitted && <span className="quiet">{texts.omitted}</span>}
      {is !== undefined && is === was && status === 'success' && <span className="quiet">{texts.unchanged}</span>}
      {is !== undefined && is !== was && <Difference label={texts.changes(number)} before={was} after={is} />}
    </>
  )
}
