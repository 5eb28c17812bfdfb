/** State of a form. The input stays when a request fails, and a problem is shown at the field that the API names. */
import { useState } from 'react'
import type { Problem } from './problem.ts'
import { useUnsaved } from './unsaved.ts'

export interface FieldState<T> {
  /** Name of the field in the API. */
  name: string
  value: T
  onChange(value: T): void
  /** The reason for which the platform rejected the value. */
  problem: string | undefined
}

export interface Form<V extends object> {
  values: V
  /** True if a value has changed since the form was opened or saved. */
  isChanged: boolean
  set(values: Partial<V>): void
  /** Marks the values as saved, so that the page can be left without a question. A form that closes after saving need not call it. */
  markSaved(): void
  /** Returns the properties of a field: `<TextField label="Name" {...form.field('name')} />`. */
  field<K extends keyof V & string>(name: K): FieldState<V[K]>
  /** The problem of the last request, if it does not concern a field on the page. */
  otherProblem: Problem | undefined
}

/** Compares two values of a field, which are texts, numbers, booleans or lists of such values. */
const isSame = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b)

const lastPart = (field: string) => field.split(/[./]/).at(-1)

export function useForm<V extends object>(initial: V, problem?: Problem | undefined): Form<V> {
  const [values, setValues] = useState(initial)
  const [saved, setSaved] = useState(initial)
  const set = (changed: Partial<V>) => setValues((now) => ({ ...now, ...changed }))
  const isChanged = (Object.keys(values) as (keyof V)[]).some((key) => !isSame(values[key], saved[key]))
  useUnsaved(isChanged)
  const wrong = problem?.field === undefined ? undefined : lastPart(problem.field)
  return {
    values,
    isChanged,
    set,
    markSaved: () => setSaved(values),
    field: (name) => ({
      name,
      value: values[name],
      onChange: (value) => set({ [name]: value } as unknown as Partial<V>),
      problem: wrong === name ? problem?.message : undefined,
    }),
    otherProblem: wrong !== undefined && wrong in values ? undefined : problem,
  }
}
