/** Links a trigger or an action to a rule. The user chooses an existing trigger or action, or creates one in a form. */
import { type FormEvent, useState } from 'react'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import type { Problem } from '../../parts/problem.ts'
import { isObject } from '../../parts/schema/schema.ts'
import { SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { Segments } from '../../parts/segments.tsx'
import { kindTexts as texts } from './kind-texts.ts'
import { type ActionType, actionTypes, nounOf, startOf, type TriggerType, triggerTypes } from './kinds.ts'
import { useLinkSchema, violationsOf } from './link-schema.ts'

export interface NewLinkProps {
  kind: 'trigger' | 'action'
  /** Ids of the triggers or actions that are already linked to the rule. */
  linked: string[]
  /** Links triggers or actions to the rule. If this fails, returns the problem. */
  onLink(type: string, ids: string[], isPositive: boolean): Promise<Problem | undefined>
  onClose(): void
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2)
const sides = ['positive', 'negative'] as const
const sources = ['new', 'existing'] as const

export function NewLink({ kind, linked, onLink, onClose }: NewLinkProps) {
  const types: readonly (TriggerType | ActionType)[] = kind === 'trigger' ? triggerTypes : actionTypes
  const [type, setType] = useState(types[0]!)
  const [source, setSource] = useState<(typeof sources)[number]>('new')
  const [side, setSide] = useState<(typeof sides)[number]>('positive')
  const [problem, setProblem] = useState<Problem>()
  async function link(ids: string[]) {
    const failed = await onLink(type, ids, side === 'positive')
    setProblem(failed)
    if (!failed) onClose()
  }
  const props = { kind, type, linked, problem, onLink: link, onClose }
  return (
    <Dialog title={texts.add[kind]} isOpen onClose={onClose} size="wide">
      <div className="form">
        <SelectField
          label={texts.kind[kind]}
          name={kind === 'trigger' ? 'triggerType' : 'actionType'}
          value={type}
          onChange={(value) => setType(types.find((known) => known === value) ?? type)}
          options={types.map((value) => ({ value, label: texts.types[value] ?? value }))}
          isRequired
        />
        {kind === 'action' && (
          <SelectField
            label={texts.when}
            value={side}
            onChange={(value) => setSide(value === 'negative' ? 'negative' : 'positive')}
            options={sides.map((value) => ({ value, label: texts.whens[value] }))}
            isRequired
          />
        )}
        <Segments
          label={texts.source}
          options={sources.map((value) => ({ value, label: texts.sources[value] }))}
          value={source}
          onChange={(value) => setSource(value)}
        />
        {source === 'new' ? <Create key={type} {...props} /> : <Choose key={type} {...props} />}
      </div>
    </Dialog>
  )
}

interface PartProps {
  kind: 'trigger' | 'action'
  type: TriggerType | ActionType
  linked: string[]
  problem: Problem | undefined
  onLink(ids: string[]): Promise<void>
  onClose(): void
}

/**
 * Returns the name of an operation. All types of triggers and actions have operations of the same form, so callers cast the name to the
 * operation of cron triggers.
 */
const operationOf = (kind: PartProps['kind'], type: string, verb: 'create' | 'list') =>
  `${nounOf(kind, type)}.${verb}` as const

function Create({ kind, type, problem, onLink, onClose }: PartProps) {
  const operation = operationOf(kind, type, 'create')
  const create = useChange(operation as 'cronTriggers.create')
  const [name, setName] = useState('')
  const draft = useJsonDraft(pretty(startOf[type]))
  const schema = useLinkSchema(kind, type)
  const [wrong, setWrong] = useState<string>()
  const { value, problem: notJson } = draft
  const body = { ...(isObject(value) ? value : {}), name }
  async function submit(event: FormEvent) {
    event.preventDefault()
    setWrong(notJson ?? (isObject(value) ? undefined : texts.notObject))
    if (notJson !== undefined || !isObject(value)) return
    const outcome = await create.run({ body: body as never })
    if (outcome.kind !== 'done') return
    const id = outcome.location?.split('/').at(-1)
    if (id !== undefined) await onLink([id])
  }
  const shown = create.problem ?? problem
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <TextField label={texts.name} name="name" value={name} onChange={setName} isRequired />
      {schema ? (
        <SchemaEditor
          label={texts.fields}
          schema={schema}
          draft={draft}
          description={texts.fieldsNote[kind]}
          violations={violationsOf(create.problem)}
          problem={wrong}
        />
      ) : (
        <Loading label={texts.loading} />
      )}
      {shown && <ErrorNote problem={shown} />}
      <div className="form-actions">
        <AsCommand operation={operation} args={{ body }} />
        <CancelButton onPress={onClose} />
        <Button look="primary" type="submit" isBusy={create.isRunning} isDisabled={name.trim() === ''}>
          {texts.link}
        </Button>
      </div>
    </form>
  )
}

function Choose({ kind, type, linked, problem, onLink, onClose }: PartProps) {
  const list = useList(operationOf(kind, type, 'list') as 'cronTriggers.list', { size: 100 })
  const [chosen, setChosen] = useState<string[]>([])
  const options = list.items
    .filter(({ id }) => !linked.includes(id))
    .map(({ id, name, description }) => ({
      ...{ value: id, label: name },
      ...(description !== undefined && { description }),
    }))
  if (list.isLoading) return <Loading label={texts.loading} />
  return (
    <>
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.problem && options.length === 0 && <p className="quiet">{texts.noneExist}</p>}
      {options.length > 0 && <CheckList label={texts.existing} options={options} value={chosen} onChange={setChosen} />}
      {problem && <ErrorNote problem={problem} />}
      <div className="form-actions">
        <CancelButton onPress={onClose} />
        <Button look="primary" isDisabled={chosen.length === 0} onPress={() => void onLink(chosen)}>
          {texts.link}
        </Button>
      </div>
    </>
  )
}
