/** Form that changes a trigger or an action. The change applies to all rules that use this trigger or action. */
import { type FormEvent, useState } from 'react'
import { type GetResult, useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { compareKeys, mergeKeys } from '../../parts/merge.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { isObject } from '../../parts/schema/schema.ts'
import { SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { cut } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { kindTexts as texts } from './kind-texts.ts'
import { type ActionType, nounOf, type TriggerType } from './kinds.ts'
import { useLinkSchema, violationsOf } from './link-schema.ts'

type Kind = 'trigger' | 'action'

/** Fields that the editor leaves out: the platform writes them, except `name`, which has an input of its own. */
const written = new Set(['id', 'type', 'name', 'createdAt', 'updatedAt', 'statistics', 'valueTypes'])

const fieldsOf = (item: object) =>
  JSON.stringify(Object.fromEntries(Object.entries(item).filter(([key]) => !written.has(key))), null, 2)

interface Props {
  kind: Kind
  type: TriggerType | ActionType
  id: string
  onClose(): void
}

/**
 * Returns the arguments of an operation. All types of triggers and actions have operations of the same form, so the code uses the
 * TypeScript types of cron triggers for all of them.
 */
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
      {item.data && <LinkForm {...props} first={item.data} read={item} />}
    </Dialog>
  )
}

interface Item {
  name: string
}

interface FormProps extends Props {
  first: Item
  read: GetResult<Item>
}

function LinkForm({ kind, type, id, onClose, first, read }: FormProps) {
  const [stored, setStored] = useState(first)
  const [name, setName] = useState(first.name)
  const [wrong, setWrong] = useState<string>()
  const before = fieldsOf(stored)
  const draft = useJsonDraft(before)
  const schema = useLinkSchema(kind, type)
  const operation = `${nounOf(kind, type)}.update` as 'cronTriggers.update'
  const change = useChange(operation, { also: ['rules'] })
  const toast = useToast()
  const body = { ...(isObject(draft.value) ? draft.value : {}), name }
  const { save, dialog } = useConditionalSave<Item>({
    etag: read.etag,
    async save(ifMatch) {
      const problem = draft.problem ?? (isObject(draft.value) ? undefined : texts.notObject)
      setWrong(problem)
      if (problem !== undefined) return 'failed'
      return (await change.run({ ...argsOf(kind, id), body: body as never }, { ifMatch })).kind
    },
    readAgain: read.reload,
    compare: (theirs) => compareKeys(editable(stored), editable(theirs), body),
    onMerge: (theirs) => {
      const { name: mergedName, ...others } = mergeKeys(editable(stored), editable(theirs), body)
      setName(String(mergedName))
      draft.setValue(others)
      setStored(theirs)
    },
    onTake: (theirs) => {
      setName(cut(theirs.name, 1000).shown)
      draft.reset()
      setStored(theirs)
    },
    onDone: () => {
      toast(texts.changed)
      onClose()
    },
  })
  return (
    <form
      className="form"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        void save()
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
        <CancelButton onPress={onClose} />
        <Button look="primary" type="submit" isBusy={change.isRunning}>
          {texts.save}
        </Button>
      </div>
      {dialog}
    </form>
  )
}

/** Returns the fields that users can change. */
const editable = (item: Item) =>
  Object.fromEntries(Object.entries(item).filter(([key]) => key === 'name' || !written.has(key)))
