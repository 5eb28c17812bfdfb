/** The form of an edit page: it saves with If-Match, and shows both sides if another caller changed the object meanwhile. */
import type { FormEvent, ReactNode } from 'react'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { type SaveOutcome, useConditionalSave, type Version } from './conditional-save.tsx'
import type { Form } from './form.ts'
import { LinkButton } from './link.tsx'
import { ErrorNote } from './notes.tsx'
import { texts } from './texts.ts'

export interface EditFormProps<V extends object, T> {
  form: Form<V>
  /** The fields. */
  children: ReactNode
  /** The object when the form opened, as `useGet` returns it; absent for a new object. */
  read?: (Version<T> & { reload(): Promise<Version<T>> }) | undefined
  /** Values of the form for an object; fields that the platform never returns are absent. */
  valuesOf?(data: T): Partial<V>
  /** Saves the values of the form. Returns how the change ended: `(await change.run(…)).kind`. */
  save(ifMatch: string | undefined): Promise<SaveOutcome>
  /** Called after the values of the platform have replaced those of the form, for fields with a state of their own. */
  onTaken?(values: Partial<V>): void
  /** Called when the values are saved. */
  onDone(): void
  isBusy: boolean
  submit: string
  /** Where "cancel" leads. */
  cancel: string | (() => void)
  title?: string
  /** The change as a command, beside the buttons. */
  command?: ReactNode
}

export function EditForm<V extends object, T>({ form, children, read, ...props }: EditFormProps<V, T>) {
  const theirValues = (data: T) => props.valuesOf?.(data) ?? {}
  const { save, dialog } = useConditionalSave<T>({
    etag: read?.etag,
    save: props.save,
    readAgain: read?.reload,
    compare: (theirs) =>
      Object.entries(theirValues(theirs)).map(([name, value]) => ({
        ...{ name, theirs: value, yours: form.values[name as keyof V] },
      })),
    onTake: (theirs) => {
      form.set(theirValues(theirs))
      props.onTaken?.(theirValues(theirs))
    },
    onDone: props.onDone,
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
            <Button onPress={cancel}>{texts.cancel}</Button>
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
