/**
 * Metadata of an endpoint: as a form with a row for each key, or as JSON. A change is saved only if the metadata still has the ETag that
 * was read.
 */
import { useState } from 'react'
import { useChange, useGet } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton, IconButton } from '../../parts/button.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { useConditionalSave } from '../../parts/conditional-save.tsx'
import { TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { compareKeys, mergeKeys } from '../../parts/merge.ts'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { texts } from './detail-texts.ts'
import type { TabProps } from './tab.ts'

type Metadata = Record<string, unknown>

/** Keys that the platform writes. Replacing all metadata does not change them. */
const ofPlatform = new Set(['connected', 'connectivity_ts'])
const formKeysMax = 100
const shownKeysMax = 500

const withoutPlatform = (metadata: Metadata): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => !ofPlatform.has(key)))

export default function MetadataTab({ endpoint: { endpointId }, mayUpdate }: TabProps) {
  const metadata = useGet('endpoints.metadata.get', { endpointId })
  const [editing, setEditing] = useState<{ metadata: Metadata; etag: string | undefined }>()
  if (metadata.isLoading) return <Loading label={texts.loading} />
  if (!metadata.data)
    return metadata.problem && <ErrorNote problem={metadata.problem} onRetry={() => void metadata.reload()} />
  const data = metadata.data as Metadata
  const begin = () => setEditing({ metadata: withoutPlatform(data), etag: metadata.etag })
  if (editing)
    return (
      <Editor
        endpointId={endpointId}
        initial={editing.metadata}
        etag={editing.etag}
        read={metadata.reload}
        onClose={() => setEditing(undefined)}
      />
    )
  const keys = Object.keys(data)
  return (
    <Card
      title={texts.metadata}
      actions={
        <>
          <AsCommand operation="endpoints.metadata.get" args={{ endpointId }} />
          {mayUpdate && (
            <Button size="small" icon="edit" onPress={begin}>
              {texts.edit}
            </Button>
          )}
        </>
      }
    >
      {keys.length === 0 ? (
        <EmptyState
          icon="tag"
          title={texts.metadataEmptyTitle}
          actions={mayUpdate && <Button onPress={begin}>{texts.addKey}</Button>}
        >
          {texts.metadataEmpty}
        </EmptyState>
      ) : (
        <>
          <Facts
            items={keys.slice(0, shownKeysMax).map((key) => [
              cut(key, 100).shown,
              ofPlatform.has(key) ? (
                <span key={key}>
                  <Text value={data[key]} /> <span className="quiet">{texts.ofPlatform}</span>
                </span>
              ) : (
                <Text key={key} value={data[key]} />
              ),
            ])}
          />
          {keys.length > shownKeysMax && <p className="quiet">{texts.tooManyKeys(keys.length)}</p>}
        </>
      )}
    </Card>
  )
}

interface EditorProps {
  endpointId: string
  initial: Metadata
  etag: string | undefined
  read(): Promise<{ data: object | undefined; etag: string | undefined }>
  onClose(): void
}

function Editor({ endpointId, initial, etag, read, onClose }: EditorProps) {
  const [view, setView] = useState<'form' | 'json'>(Object.keys(initial).length > formKeysMax ? 'json' : 'form')
  const [first] = useState(() => JSON.stringify(initial, null, 2))
  const [typed, setTyped] = useState(first)
  useUnsaved(typed !== first)
  const [wrong, setWrong] = useState<string>()
  const change = useChange('endpoints.metadata.update')
  const toast = useToast()
  const parsed = objectOf(typed)

  const { save, dialog } = useConditionalSave<object>({
    etag,
    async save(ifMatch) {
      setWrong(parsed.problem)
      return parsed.value ? (await change.run({ endpointId, body: parsed.value }, { ifMatch })).kind : 'failed'
    },
    readAgain: read,
    compare: (theirs) => differencesOf(initial, withoutPlatform({ ...theirs }), parsed.value ?? {}),
    onMerge: (theirs) =>
      setTyped(JSON.stringify(mergeKeys(initial, withoutPlatform({ ...theirs }), parsed.value ?? {}), null, 2)),
    onTake: onClose,
    onDone: () => {
      toast(texts.metadataSaved)
      onClose()
    },
  })
  const isForm = view === 'form' && parsed.value !== undefined
  return (
    <Card
      title={texts.metadata}
      actions={
        <Segments
          label={texts.view}
          value={view}
          onChange={(next) => {
            setWrong(parsed.problem)
            if (next === 'json' || parsed.value) setView(next)
          }}
          options={[
            { value: 'form', label: texts.asForm },
            { value: 'json', label: texts.asJson },
          ]}
        />
      }
    >
      <div className="form">
        {isForm ? (
          <KeyRows value={parsed.value!} onChange={(next) => setTyped(JSON.stringify(next, null, 2))} />
        ) : (
          <JsonField
            label={texts.json}
            name="metadata"
            value={typed}
            onChange={setTyped}
            description={texts.metadataNote}
            problem={wrong}
          />
        )}
        {change.problem && <ErrorNote problem={change.problem} />}
        <div className="form-actions">
          <AsCommand operation="endpoints.metadata.update" args={{ endpointId, body: parsed.value ?? {} }} />
          <CancelButton onPress={onClose} />
          <Button look="primary" onPress={() => void save()} isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </div>
      {dialog}
    </Card>
  )
}

function objectOf(text: string): { value: Metadata | undefined; problem: string | undefined } {
  const { value, problem } = parseJson(text)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject
    ? { value: value as Metadata, problem: undefined }
    : { value: undefined, problem: problem ?? texts.notObject }
}

const differencesOf = (before: Metadata, theirs: Metadata, yours: Metadata) =>
  compareKeys(before, theirs, yours)
    .slice(0, shownKeysMax)
    .map((field) => ({ ...field, name: cut(field.name, 100).shown }))

const textOf = (value: unknown) => (typeof value === 'string' && !isJson(value) ? value : JSON.stringify(value))
const isJson = (text: string) => parseJson(text).problem === undefined
/** Parses an entered value: JSON keeps its type, and everything else is a text. */
const parsedValue = (text: string): unknown => (isJson(text) ? parseJson(text).value : text)

/** Shows a row for each key. */
function KeyRows({ value, onChange }: { value: Metadata; onChange(value: Metadata): void }) {
  const [added, setAdded] = useState('')
  const [problem, setProblem] = useState<string>()
  const keys = Object.keys(value)
  // The text of each row is kept as it was typed, because `1.0` and `"1"` would otherwise change during typing.
  const [typed, setTyped] = useState<Record<string, string>>({})
  function add() {
    const wrong = added === '' ? texts.keyEmpty : Object.hasOwn(value, added) ? texts.keyTaken : undefined
    setProblem(wrong)
    if (wrong) return
    onChange({ ...value, [added]: '' })
    setAdded('')
  }
  if (keys.length > formKeysMax) return <Note>{texts.tooManyKeys(keys.length)}</Note>
  return (
    <div className="key-rows">
      {keys.map((key) => (
        <div key={key} className="key-row">
          <code>
            <Text value={key} max={100} />
          </code>
          <TextField
            label={texts.value}
            name={cut(key, 100).shown}
            value={typed[key] ?? textOf(value[key])}
            onChange={(text) => {
              setTyped({ ...typed, [key]: text })
              onChange({ ...value, [key]: parsedValue(text) })
            }}
            isCompact
          />
          <IconButton
            icon="trash"
            label={texts.removeKey(cut(key, 60).shown)}
            onPress={() => {
              const { [key]: _, ...others } = value
              onChange(others)
            }}
          />
        </div>
      ))}
      <p className="field-description">{texts.valueNote}</p>
      <div className="key-row">
        <TextField label={texts.keyName} value={added} onChange={setAdded} problem={problem} mono />
        <Button icon="plus" onPress={add}>
          {texts.addKey}
        </Button>
      </div>
    </div>
  )
}
