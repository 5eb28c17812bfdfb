/** The form of an edit page: it saves with If-Match, and shows both sides if another caller changed the object meanwhile. */
import { type FormEvent, type ReactNode, useRef } from 'react'
import { useLocation } from 'wouter'
import { Button, CancelButton } from './button.tsx'
import { Card } from './card.tsx'
import { type SaveOutcome, useConditionalSave, type Version } from './conditional-save.tsx'
import type { Form } from './form.ts'
import { LinkButton } from './link.tsx'
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
  /** Values of the form for an object; fields that the platform never returns are absent. */
  valuesOf?(data: T): Partial<V>
  /** Saves the values of the form. Returns how the change ended, as `change.run(…)` does. */
  save(ifMatch: string | undefined): Promise<O>
  /** Called after the values of the platform have replaced those of the form, for fields with a state of their own. */
  onTaken?(values: Partial<V>): void
  /** Says that the values are saved. */
  saved: string
  /** Address of the page that opens then; a function gets the answer of the platform, and returns nothing to stay on the page. */
  next: string | ((done: Done<O>) => string | undefined)
  isBusy: boolean
  submit: string
  /** Where "cancel" leads. */
  cancel: string | (() => void)
  title?: string
  /** The change as a command, beside the buttons. */
  command?: ReactNode
}

export function EditForm<V extends object, T, O extends { kind: SaveOutcome }>(props: EditFormProps<V, T, O>) {
  const { form, children, read } = props
  const [, navigate] = useLocation()
  const toast = useToast()
  const outcome = useRef<O>(undefined)
  const theirValues = (data: T) => props.valuesOf?.(data) ?? {}
  const { save, dialog } = useConditionalSave<T>({
    etag: read?.etag,
    save: async (ifMatch) => {
      outcome.current = await props.save(ifMatch)
      return outcome.current.kind
    },
    readAgain: read?.reload,
    compare: (theirs) =>
      Object.entries(theirValues(theirs)).map(([name, value]) => ({
        ...{ name, theirs: value, yours: form.values[name as keyof V] },
      })),
    onTake: (theirs) => {
      form.set(theirValues(theirs))
      props.onTaken?.(theirValues(theirs))
    },
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
