/** Edits JSON as a form or as text, and shows the difference to the stored value. All three views show the same draft. */
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { Difference } from '../difference.tsx'
import { JsonField, parseJson } from '../json-field.tsx'
import { Note } from '../notes.tsx'
import { Segments } from '../segments.tsx'
import { useUnsaved } from '../unsaved.ts'
import { atField, fieldOf, isObject, newValueOf, type Violation } from './schema.ts'
import { SchemaField } from './schema-field.tsx'
import { schemaTexts as texts } from './schema-texts.ts'
import { BrokenTexts } from './text-value.tsx'

/** JSON that the user edits: a text that was typed, or a value that the form has created. */
export interface JsonDraft {
  text: string
  value: unknown
  /** The reason why the draft cannot be saved: the text, or a text within the form, is not JSON. */
  problem: string | undefined
  /** The reason why the text is not JSON. */
  textProblem: string | undefined
  isChanged: boolean
  setText(text: string): void
  setValue(value: unknown): void
  /** Reports that a text within the form is not valid, or, with undefined, that it is valid again. */
  setBroken(path: string, problem: string | undefined): void
  /** Marks the draft as saved, so that the page can be left without a question; the text stays in the editor. */
  markSaved(): void
  /** Discards the input. */
  reset(): void
}

/** Returns JSON with line breaks and indentation. A text that is not JSON is returned unchanged. */
export function prettyJson(text: string): string {
  const { value, problem } = parseJson(text)
  return problem === undefined ? JSON.stringify(value, null, 2) : text
}

/** Returns a draft of JSON. `before` is the stored text; until the user types, the draft has the same text, even if `before` changes. */
export function useJsonDraft(before: string): JsonDraft {
  const [typed, setTyped] = useState<{ text: string } | { value: unknown }>()
  const [savedText, setSavedText] = useState<string>()
  const [broken, setAllBroken] = useState<Record<string, string>>({})
  const setBroken = useCallback((path: string, problem: string | undefined) => {
    setAllBroken(({ [path]: _, ...others }) => (problem === undefined ? others : { ...others, [path]: problem }))
  }, [])
  const draft = useMemo(() => {
    const text = !typed ? before : 'text' in typed ? typed.text : (JSON.stringify(typed.value, null, 2) ?? '')
    const parsed = typed && 'value' in typed ? { value: typed.value, problem: undefined } : parseJson(text)
    return {
      text,
      value: parsed.value,
      problem: parsed.problem ?? Object.values(broken)[0],
      textProblem: parsed.problem,
      isChanged: typed !== undefined && text !== before,
      setText: (text: string) => setTyped({ text }),
      setValue: (value: unknown) => setTyped({ value }),
      setBroken,
      markSaved: () => setSavedText(text),
      reset: () => setTyped(undefined),
    }
  }, [typed, before, broken, setBroken])
  useUnsaved(draft.isChanged && draft.text !== savedText)
  return draft
}

type View = 'form' | 'text' | 'difference'

export interface SchemaEditorProps {
  label: string
  /** Name of the field in the API. */
  name?: string
  /** The JSON schema; undefined if there is no schema. */
  schema: unknown
  draft: JsonDraft
  /** The stored text, with which the draft is compared; undefined if nothing is stored yet. */
  before?: string | undefined
  description?: string
  /** Violations that the platform reported. */
  violations?: Violation[] | undefined
  problem?: string | undefined
  children?: ReactNode
}

export function SchemaEditor(props: SchemaEditorProps) {
  const { label, schema, draft, before, violations = [] } = props
  const isForm = useMemo(() => isObject(schema) && fieldOf(schema, schema).control.kind !== 'text', [schema])
  const [chosenView, setChosenView] = useState<View>('form')
  // An empty text is not an error: it is a new document.
  const isBroken = draft.textProblem !== undefined && draft.text.trim() !== ''
  const isPartBroken = draft.textProblem === undefined && draft.problem !== undefined
  const view = chosenView === 'form' && (!isForm || isBroken) ? 'text' : chosenView
  const views: View[] = [
    ...(isForm ? (['form'] as const) : []),
    'text',
    ...(before === undefined ? [] : (['difference'] as const)),
  ]
  const atFields = useMemo(() => violations.map(atField), [violations])
  return (
    <div className="schema-editor">
      {views.length > 1 && (
        <Segments<View>
          label={texts.views}
          value={view}
          onChange={(next) => !isPartBroken && setChosenView(next)}
          options={views.map((value) => ({ value, label: texts[value] }))}
        />
      )}
      {chosenView === 'form' && isForm && isBroken && <Note tone="warn">{texts.brokenText}</Note>}
      {isPartBroken && <Note tone="warn">{texts.brokenPart}</Note>}
      {view === 'form' && (
        <div className="schema-form">
          <BrokenTexts value={draft.setBroken}>
            <SchemaField
              root={schema}
              schema={schema}
              label={label}
              path=""
              value={draft.textProblem === undefined ? draft.value : newValueOf(schema, schema)}
              onChange={draft.setValue}
              isRequired
              violations={atFields}
              depth={0}
            />
          </BrokenTexts>
        </div>
      )}
      {view === 'text' && (
        <JsonField
          label={label}
          {...(props.name !== undefined && { name: props.name })}
          value={draft.text}
          onChange={draft.setText}
          {...(props.description !== undefined && { description: props.description })}
          problem={props.problem ?? textOf(violations)}
        />
      )}
      {view === 'difference' && <Difference label={texts.difference} before={before ?? ''} after={draft.text} />}
    </div>
  )
}

const listedMax = 10
const textOf = (violations: Violation[]) =>
  violations.length === 0
    ? undefined
    : violations
        .slice(0, listedMax)
        .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
        .join('; ')
