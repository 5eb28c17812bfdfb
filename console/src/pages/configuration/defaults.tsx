/** The default configuration of a version: edits it as form or text, shows the difference before saving, and deletes it. */
import { type FormEvent, useState } from 'react'
import { useConfigurationSchema } from '../../api/configuration-schema.ts'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Difference } from '../../parts/difference.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { parseJson } from '../../parts/json-field.tsx'
import { mergeJson } from '../../parts/merge.ts'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { type JsonDraft, prettyJson, SchemaEditor, useJsonDraft } from '../../parts/schema/schema-editor.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Configuration = ItemOf<'configurations.defaults.list'>

interface Props {
  appName: string
  appVersionName: string
  name: string
  onName(name: string): void
}

export function Defaults(props: Props) {
  const { appVersionName, name, onName } = props
  const list = useList('configurations.defaults.list', { appVersionName })
  if (list.isLoading) return <Loading label={texts.loading} />
  if (list.problem && !list.isRead) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  const current = list.items.find((configuration) => configuration.name === name)
  const names = [...new Set(['default', name, ...list.items.map((configuration) => configuration.name)])]
  return (
    <>
      <div className="filter-bar">
        <SelectField
          label={texts.name}
          name="name"
          value={name}
          onChange={onName}
          options={names.map((value) => ({ value, label: value }))}
          isCompact
        />
        <NewName onName={onName} />
      </div>
      <Editor {...props} current={current} />
    </>
  )
}

/** Asks for the name of a new configuration. A version can have several configurations. */
function NewName({ onName }: { onName(name: string): void }) {
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  if (!isOpen)
    return (
      <Button icon="plus" onPress={() => setOpen(true)}>
        {texts.newName}
      </Button>
    )
  return (
    <form
      className="inline-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (name.trim() === '') return
        onName(name.trim())
        setOpen(false)
      }}
    >
      <TextField label={texts.newName} value={name} onChange={setName} isCompact isRequired mono autoFocus />
      <Button type="submit">{texts.open}</Button>
    </form>
  )
}

function Editor({ appName, appVersionName, name, current }: Props & { current: Configuration | undefined }) {
  const may = useMay()
  const resource = `application-${appName}`
  const mayChange = may('application:endpoint-config:update', resource)
  const before = current ? prettyJson(current.config) : ''
  const stored = useJsonDraft(before)
  const schema = useConfigurationSchema(appName, appVersionName)
  // The configuration as it was read when the user began to type, with its ETag. The page may read it again later. The save still sends the
  // older ETag, so that the platform rejects the save if another caller has changed the configuration meanwhile.
  const [base, setBase] = useState<{ etag: string | undefined; value: unknown }>()
  // After a conflict: the configuration from which the user started, and which another caller has replaced. As soon as the page has read
  // the new configuration, it adds the changes of the user to the new one, and `replaced` becomes undefined.
  const [replaced, setReplaced] = useState<typeof base>()
  const [wrong, setWrong] = useState<string>()
  const [isConflict, setConflict] = useState(false)
  const change = useChange('configurations.defaults.update')
  const toast = useToast()
  const etagOf = (configuration: Configuration | undefined) => configuration && `"${configuration.configId}"`
  const { value, problem } = stored
  const present = () => ({ etag: etagOf(current), value: parseJson(before).value })
  if (replaced && etagOf(current) !== replaced.etag) {
    setReplaced(undefined)
    stored.setValue(mergeJson(replaced.value, present().value, value))
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    setWrong(problem)
    if (problem !== undefined) return
    const outcome = await change.run({ appVersionName, name, body: value }, { ifMatch: (base ?? present()).etag })
    setConflict(outcome.kind === 'conflict')
    if (outcome.kind === 'conflict') {
      setReplaced(base ?? present())
      setBase(undefined)
    }
    if (outcome.kind !== 'done') return
    stored.reset()
    setBase(undefined)
    toast(texts.saved)
  }
  const begin = () => {
    if (!base) setBase(present())
  }
  const draft: JsonDraft = {
    ...stored,
    setText(text) {
      begin()
      stored.setText(text)
    },
    setValue(next) {
      begin()
      stored.setValue(next)
    },
  }
  if (!mayChange)
    return (
      <Card title={texts.text}>
        {current ? <CodeView label={texts.text} text={before} /> : <p className="quiet">{texts.none}</p>}
      </Card>
    )
  return (
    <div className="columns">
      <Card title={texts.text}>
        <form className="form" onSubmit={(event) => void submit(event)}>
          {!current && <p className="quiet">{texts.none}</p>}
          <SchemaEditor
            label={texts.text}
            name="config"
            schema={schema}
            draft={draft}
            description={texts.textNote}
            violations={change.problem?.violations}
            problem={wrong}
          />
          {isConflict && <Note tone="warn">{texts.conflict}</Note>}
          {change.problem && <ErrorNote problem={change.problem} />}
          <div className="form-actions">
            <AsCommand operation="configurations.defaults.update" args={{ appVersionName, name, body: value }} />
            {current && may('application:endpoint-config:delete', resource) && (
              <DeleteDefault appVersionName={appVersionName} name={name} />
            )}
            <Button look="primary" type="submit" isBusy={change.isRunning} isDisabled={!draft.isChanged}>
              {texts.save}
            </Button>
          </div>
        </form>
      </Card>
      <Card title={texts.changes}>
        <Difference label={texts.changes} before={before} after={draft.text} />
        {current && (
          <p className="quiet">
            {texts.changed} <Time value={current.updatedDate} style="full" />
          </p>
        )}
      </Card>
    </div>
  )
}

function DeleteDefault({ appVersionName, name }: { appVersionName: string; name: string }) {
  const [isOpen, setOpen] = useState(false)
  const change = useChange('configurations.defaults.delete')
  const toast = useToast()
  async function remove() {
    if ((await change.run({ appVersionName, name })).kind !== 'done') return
    setOpen(false)
    toast(texts.deleted)
  }
  return (
    <>
      <Button icon="trash" onPress={() => setOpen(true)}>
        {texts.delete}
      </Button>
      <ConfirmDelete
        objectName={texts.objectName(name, appVersionName)}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
