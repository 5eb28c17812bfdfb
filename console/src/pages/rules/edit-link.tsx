/** Changes a trigger or an action by a form. All rules that have it use the changed one. */
import { type FormEvent, useState } from 'react'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { ConflictDialog } from '../../parts/conflict-dialog.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { isObject } from '../../parts/schema/schema.ts'
import { SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { cut } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { kindTexts as texts } from './kind-texts.ts'
import { type ActionType, nounOf, type TriggerType } from './kinds.ts'
import { useLinkSchema, violationsOf } from './link-schema.ts'

type Kind = 'trigger' | 'action'

/** Fields that only the platform writes. */
const written = new Set(['id', 'type', 'name', 'createdAt', 'updatedAt', 'statistics', 'valueTypes'])

const fieldsOf = (item: object) =>
  JSON.stringify(Object.fromEntries(Object.entries(item).filter(([key]) => !written.has(key))), null, 2)

interface Props {
  kind: Kind
  type: TriggerType | ActionType
  id: string
  onClose(): void
}

/** All kinds have the same operations, so one of them stands for their types. */
const argsOf = (kind: Kind, id: string) =>
  (kind === 'trigger' ? { triggerId: id } : { actionId: id }) as { triggerId: string }

export function EditLink(props: Props) {
  const { kind, type, id, onClose } = props
  const operation = `${nounOf(kind, type)}.get` as 'cronTriggers.get'
  const item = useGet(operation, argsOf(kind, id))
  return (
    <Dialog title={texts.editTitle[kind]} isOpen onClose={onClose} size="wide">
      {item.isLoading && <Loading label={texts.loading} />}
      {item.problem && <ErrorNote problem={item.problem} onRetry={() => void item.reload()} />}
      {item.data && <LinkForm {...props} first={item.data} firstEtag={item.etag} readAgain={item.reload} />}
    </Dialog>
  )
}

interface Item {
  name: string
}

interface FormProps extends Props {
  first: Item
  firstEtag: string | undefined
  readAgain(): Promise<{ data: Item | undefined; etag: string | undefined }>
}

function LinkForm({ kind, type, id, onClose, first, firstEtag, readAgain }: FormProps) {
  // The version that was read when the form opened; later readings must not hide a change of another caller.
  const [base, setBase] = useState({ item: first, etag: firstEtag })
  const [theirs, setTheirs] = useState<{ item: Item; etag: string | undefined }>()
  const [name, setName] = useState(first.name)
  const [wrong, setWrong] = useState<string>()
  const before = fieldsOf(base.item)
  const draft = useJsonDraft(before)
  const schema = useLinkSchema(kind, type)
  const operation = `${nounOf(kind, type)}.update` as 'cronTriggers.update'
  const change = useChange(operation, { also: ['rules'] })
  const toast = useToast()
  const body = { ...(isObject(draft.value) ? draft.value : {}), name }
  async function save(ifMatch: string | undefined) {
    const problem = draft.problem ?? (isObject(draft.value) ? undefined : texts.notObject)
    setWrong(problem)
    if (problem !== undefined) return
    const outcome = await change.run({ ...argsOf(kind, id), body: body as never }, { ifMatch })
    if (outcome.kind === 'conflict') {
      const now = await readAgain()
      if (now.data) setTheirs({ item: now.data, etag: now.etag })
    }
    if (outcome.kind !== 'done') return
    toast(texts.changed)
    onClose()
  }
  return (
    <form
      className="form"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        void save(base.etag)
      }}
    >
      <TextField label={texts.name} name="name" value={name} onChange={setName} isRequired />
      {schema ? (
        <SchemaEditor
          label={texts.fields}
          schema={schema}
          draft={draft}
          before={before}
          description={texts.fieldsNote[kind]}
          violations={violationsOf(change.problem)}
          problem={wrong}
        />
      ) : (
        <Loading label={texts.loading} />
      )}
      <p className="quiet">{texts.editNote}</p>
      {change.problem && <ErrorNote problem={change.problem} />}
      <div className="form-actions">
        <AsCommand operation={operation} args={{ ...argsOf(kind, id), body }} />
        <Button onPress={onClose}>{texts.cancel}</Button>
        <Button look="primary" type="submit" isBusy={change.isRunning}>
          {texts.save}
        </Button>
      </div>
      <ConflictDialog
        isOpen={theirs !== undefined}
        fields={theirs ? differencesOf({ ...theirs.item }, body) : []}
        onClose={() => setTheirs(undefined)}
        onTakeTheirs={() => {
          setName(cut(theirs!.item.name, 1000).shown)
          draft.reset()
          setBase(theirs!)
          setTheirs(undefined)
        }}
        onKeepYours={() => {
          setBase(theirs!)
          setTheirs(undefined)
          void save(theirs!.etag)
        }}
      />
    </form>
  )
}

/** Fields of both sides that differ. */
function differencesOf(theirs: Record<string, unknown>, yours: Record<string, unknown>) {
  return [...new Set([...Object.keys(theirs), ...Object.keys(yours)])]
    .filter((key) => key === 'name' || !written.has(key))
    .filter((key) => JSON.stringify(theirs[key]) !== JSON.stringify(yours[key]))
    .map((key) => ({ name: key, theirs: theirs[key], yours: yours[key] }))
}
