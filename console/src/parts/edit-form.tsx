/** The form of an edit page: it saves with If-Match, and shows both versions if another caller changed the object meanwhile. */
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, CancelButton } from './button.tsx'
import { Card } from './card.tsx'
import { type SaveOutcome, useConditionalSave, type Version } from './conditional-save.tsx'
import type { Form } from './form.ts'
import { LinkButton } from './link.tsx'
import { compareKeys, mergeKeys } from './merge.ts'
import { ErrorNote } from './notes.tsx'
import { texts } from './texts.ts'
import { useToast } from './toast.tsx'

type Done<O> = Extract<O, { kind: 'done' }>

export interface EditFormProps<V extends object, T, O extends { kind: SaveOutcome }> {
  form: Form<V>
  /** The fields. */
  children: ReactNode
  /** The object when the form opened, as `useGet` returns it; absent for a new object. */
  read?: (Version<T> & { reload(): Promise<Version<T>> }) | undefined
  /** Returns the values of the form for an object. Fields that the platform never returns are absent. */
  valuesOf?(data: T): Partial<V>
  /** Fields that have a meaning only together (`parts/merge.ts`). */
  together?: readonly (readonly (keyof V & string)[])[]
  /** Saves the values of the form. Returns the outcome of the change, as `change.run(…)` does. */
  save(ifMatch: string | undefined): Promise<O>
  /** Called after stored values have replaced values of the form, for fields with a state of their own. */
  onTaken?(values: Partial<V>): void
  /** Message that is shown after saving. */
  saved: string
  /**
   * Address of the page that opens after saving. A function gets the response of the platform; if it returns undefined, the page stays
   * open.
   */
  next: string | ((done: Done<O>) => string | undefined)
  isBusy: boolean
  submit: string
  /** Address that the cancel button opens, or a function that it calls. */
  cancel: string | (() => void)
  title?: string
  /** The button that shows the change as a command. */
  command?: ReactNode
}

export function EditForm<V extends object, T, O extends { kind: SaveOutcome }>(props: EditFormProps<V, T, O>) {
  const { form, children, read } = props
  const [, navigate] = useLocation()
  const toast = useToast()
  const outcome = useRef<O>(undefined)
  const theirValues = (data: T) => props.valuesOf?.(data) ?? {}
  // The values of the version that the input is based on.
  const [base, setBase] = useState<Partial<V>>(form.values)
  /** Returns the input of the user, for the fields that the stored object has. */
  const yourValues = (theirs: object) =>
    Object.fromEntries(Object.keys(theirs).map((name) => [name, form.values[name as keyof V]]))
  function replace(theirs: Partial<V>, values: Partial<V>) {
    form.set(values)
    props.onTaken?.(values)
    setBase(theirs)
  }
  const { save, dialog } = useConditionalSave<T>({
    etag: read?.etag,
    save: async (ifMatch) => {
      outcome.current = await props.save(ifMatch)
      return outcome.current.kind
    },
    readAgain: read?.reload,
    compare: (data) => {
      const theirs = theirValues(data)
      return compareKeys(base, theirs, yourValues(theirs), props.together)
    },
    onMerge: (data) => {
      const theirs = theirValues(data)
      replace(theirs, mergeKeys(base, theirs, yourValues(theirs), props.together) as Partial<V>)
    },
    onTake: (data) => replace(theirValues(data), theirValues(data)),
    onDone: () => {
      toast(props.saved)
      form.markSaved()
      const { next } = props
      const to = typeof next === 'string' ? next : next(outcome.current as Done<O>)
      if (to !== undefined) navigate(to)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  const { cancel } = props
  return (
    <Card {...(props.title !== undefined && { title: props.title })}>
      <form className="form" onSubmit={submit}>
        {children}
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          {props.command}
          {typeof cancel === 'string' ? (
            <LinkButton to={cancel}>{texts.cancel}</LinkButton>
          ) : (
            <CancelButton onPress={cancel} />
          )}
          <Button look="primary" type="submit" isBusy={props.isBusy}>
            {props.submit}
          </Button>
        </div>
      </form>
      {dialog}
    </Card>
  )
}
