/** Parts of a form that are edited as JSON: values without a suitable control, and keys that the schema does not name. */
import { createContext, useContext, useEffect, useState } from 'react'
import { JsonField, parseJson } from '../json-field.tsx'
import { type FieldProps, shownLabel } from './field-props.ts'
import { isObject, type Violation } from './schema.ts'
import { schemaTexts as texts } from './schema-texts.ts'

const textOf = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2))

/** Function to which a text field reports its problem, or undefined if its text is valid. A draft with a problem is not saved. */
export const BrokenTexts = createContext<(path: string, problem: string | undefined) => void>(() => {})

function useReportedProblem(path: string, problem: string | undefined) {
  const report = useContext(BrokenTexts)
  useEffect(() => {
    if (problem === undefined) return
    report(path, problem)
    return () => report(path, undefined)
  }, [report, path, problem])
}

/**
 * Returns the state of a text field for JSON. The text stays as the user typed it, and the value changes when the text is valid JSON. An
 * empty text removes the value.
 */
function useText(value: unknown, onChange: (value: unknown) => string | undefined) {
  const [typed, setTyped] = useState<{ text: string; value: string; problem: string | undefined }>()
  const current = textOf(value)
  const isTyped = typed !== undefined && typed.value === current
  return {
    text: isTyped ? typed.text : current,
    problem: isTyped ? typed.problem : undefined,
    type(text: string) {
      if (text.trim() === '') {
        const problem = onChange(undefined)
        return setTyped({ text, value: problem === undefined ? '' : current, problem })
      }
      const parsed = parseJson(text)
      if (parsed.problem !== undefined) return setTyped({ text, value: current, problem: parsed.problem })
      const problem = onChange(parsed.value)
      setTyped({ text, value: problem === undefined ? textOf(parsed.value) : current, problem })
    },
  }
}

const problemsOf = (violations: Violation[], path: string) =>
  violations
    .filter((violation) => violation.path === path || violation.path.startsWith(`${path}/`))
    .map((violation) => (violation.path === path ? violation.message : `${violation.path}: ${violation.message}`))
    .join('; ') || undefined

export function TextValue({
  label,
  name,
  value,
  onChange,
  path,
  violations,
  notes,
  note,
}: FieldProps & { notes: string; note: string }) {
  const { text, problem, type } = useText(value, (next) => void onChange(next))
  useReportedProblem(path, problem)
  return (
    <JsonField
      label={shownLabel(label)}
      {...(name !== undefined && name !== label && { name: shownLabel(name, 60) })}
      value={text}
      onChange={type}
      description={[notes, note].filter(Boolean).join(' ')}
      problem={problem ?? problemsOf(violations, path)}
    />
  )
}

/** Edits the keys that the schema does not name, as one text. Changes in the other fields of the form do not affect these keys. */
export function OtherKeys({
  object,
  known,
  mayAdd,
  violations,
  path,
  onChange,
}: {
  object: Record<string, unknown>
  known: Set<string>
  /** True if the schema permits other keys. */
  mayAdd: boolean
  violations: Violation[]
  path: string
  onChange(object: Record<string, unknown>): void
}) {
  const others = Object.fromEntries(Object.entries(object).filter(([key]) => !known.has(key)))
  const isEmpty = Object.keys(others).length === 0
  const ownMessages = violations.filter((violation) => violation.path === path).map(({ message }) => message)
  const { text, problem, type } = useText(isEmpty ? undefined : others, (next) => {
    if (next !== undefined && !isObject(next)) return texts.notObject
    const taken = Object.keys(next ?? {}).filter((key) => known.has(key))
    if (taken.length > 0) return texts.otherKeysTaken(shownLabel(taken.join(', ')))
    // Existing keys keep their position, and new keys come last.
    const kept = Object.entries(object).flatMap(([key, value]): [string, unknown][] =>
      known.has(key) ? [[key, value]] : next && Object.hasOwn(next, key) ? [[key, next[key]]] : [],
    )
    onChange({ ...Object.fromEntries(kept), ...next })
    return undefined
  })
  useReportedProblem(`${path}/*`, problem)
  if (isEmpty && !(mayAdd && problem !== undefined))
    return ownMessages.length === 0 ? null : (
      <p className="field-error" role="alert">
        {ownMessages.join('; ')}
      </p>
    )
  return (
    <JsonField
      label={texts.otherKeys}
      value={text}
      onChange={type}
      description={texts.otherKeysNote}
      problem={problem ?? (ownMessages.length > 0 ? ownMessages.join('; ') : undefined)}
    />
  )
}
