/** The default configuration of a version: text, difference before saving, deletion. */
import { type FormEvent, useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { Difference } from '../../parts/difference.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
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

/** The text as people read it; a text that is no JSON stays as it is. */
function pretty(config: string | undefined): string {
  if (config === undefined) return ''
  const { value, problem } = parseJson(config)
  return problem === undefined ? JSON.stringify(value, null, 2) : config
}

export function Defaults(props: Props) {
  const { appVersionName, name, onName } = props
  const list = useList('configurations.defaults.list', { appVersionName })
  if (list.isLoading) return <Loading label={texts.loading} />
  if (list.problem) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  const current = list.items.find((configuration) => configuration.name === name)
  const names = [...new Set(['default', name, ...list.items.map((configuration) => configuration.name)])]
  return (
    <>
      {names.length > 1 && (
        <SelectField
          label={texts.name}
          name="name"
          value={name}
          onChange={onName}
          options={names.map((value) => ({ value, label: value }))}
          isRequired
        />
      )}
      <Editor {...props} current={current} />
    </>
  )
}

function Editor({ appName, appVersionName, name, current }: Props & { current: Configuration | undefined }) {
  const may = useMay()
  const resource = `application-${appName}`
  const mayChange = may('application:endpoint-config:update', resource)
  const before = pretty(current?.config)
  const [typed, setTyped] = useState<string>()
  // The version that was read when typing began; later readings must not hide a change of another caller.
  const [base, setBase] = useState<{ etag: string | undefined }>()
  const [wrong, setWrong] = useState<string>()
  const [isConflict, setConflict] = useState(false)
  const change = useChange('configurations.defaults.update')
  const toast = useToast()
  const etagOf = (configuration: Configuration | undefined) => configuration && `"${configuration.configId}"`
  const shown = typed ?? before
  const { value, problem } = parseJson(shown)
  async function submit(event: FormEvent) {
    event.preventDefault()
    setWrong(problem)
    if (problem !== undefined) return
    const outcome = await change.run(
      { appVersionName, name, body: value },
      { ifMatch: (base ?? { etag: etagOf(current) }).etag },
    )
    setConflict(outcome.kind === 'conflict')
    if (outcome.kind === 'conflict') setBase(undefined)
    if (outcome.kind !== 'done') return
    setTyped(undefined)
    setBase(undefined)
    toast(texts.saved)
  }
  function type(text: string) {
    setTyped(text)
    if (!base) setBase({ etag: etagOf(current) })
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
          <JsonField
            label={texts.text}
            name="config"
            value={shown}
            onChange={type}
            description={texts.textNote}
            problem={wrong}
          />
          {isConflict && <Note tone="warn">{texts.conflict}</Note>}
          {change.problem && <ErrorNote problem={change.problem} />}
          <div className="form-actions">
            <AsCommand operation="configurations.defaults.update" args={{ appVersionName, name, body: value }} />
            {current && may('application:endpoint-config:delete', resource) && (
              <DeleteDefault appVersionName={appVersionName} name={name} />
            )}
            <Button look="primary" type="submit" isBusy={change.isRunning} isDisabled={shown === before}>
              {texts.save}
            </Button>
          </div>
        </form>
      </Card>
      <Card title={texts.changes}>
        <Difference label={texts.changes} before={before} after={shown} />
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
        what={texts.what(name, appVersionName)}
        isOpen={isOpen}
        isBusy={change.isRunning}
        problem={change.problem}
        onConfirm={() => void remove()}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
