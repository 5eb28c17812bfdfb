/** The form of an edit page: it saves with If-Match, and shows both sides if another caller changed the object meanwhile. */
import { type FormEvent, type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { ConflictDialog } from './conflict-dialog.tsx'
import type { Form } from './form.ts'
import { LinkButton } from './link.tsx'
import { ErrorNote } from './notes.tsx'
import { texts } from './texts.ts'

/** The object as the platform has it: `values` are those of the form; fields that it never returns are absent. */
export interface Current<V> {
  values: Partial<V>
  etag: string | undefined
}

export interface EditFormProps<V extends object> {
  form: Form<V>
  /** The fields. */
  children: ReactNode
  /** ETag of the object when the form opened; absent for a new object. */
  etag?: string | undefined
  /** Saves the values of the form. Returns how the change ended: `(await change.run(…)).kind`. */
  save(ifMatch: string | undefined): Promise<'done' | 'failed' | 'conflict'>
  /** Reads the object again after a conflict. */
  readAgain?(): Promise<Current<V> | undefined>
  /** Called after the values of the platform have replaced those of the form, for fields with a state of their own. */
  onTaken?(): void
  /** Called when the values are saved. */
  onDone(): void
  isBusy: boolean
  submit: string
  cancelTo: string
  /** The change as a command, beside the buttons. */
  command?: ReactNode
}

export function EditForm<V extends object>({ form, children, save, readAgain, onDone, ...rest }: EditFormProps<V>) {
  // The version that was read when the form opened; later readings must not hide a change of another caller.
  const [etag, setEtag] = useState(rest.etag)
  const [theirs, setTheirs] = useState<Current<V>>()
  async function run(ifMatch: string | undefined) {
    const outcome = await save(ifMatch)
    if (outcome === 'done') onDone()
    if (outcome === 'conflict') setTheirs(await readAgain?.())
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void run(etag)
  }
  return (
    <Card>
      <form className="form" onSubmit={submit}>
        {children}
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          {rest.command}
          <LinkButton to={rest.cancelTo}>{texts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={rest.isBusy}>
            {rest.submit}
          </Button>
        </div>
      </form>
      {theirs && (
        <ConflictDialog
          isOpen
          fields={(Object.keys(theirs.values) as (keyof V & string)[]).map((name) => ({
            ...{ name, theirs: theirs.values[name], yours: form.values[name] },
          }))}
          onKeepYours={() => {
            setTheirs(undefined)
            void run(theirs.etag)
          }}
          onTakeTheirs={() => {
            form.set(theirs.values)
            setEtag(theirs.etag)
            setTheirs(undefined)
            rest.onTaken?.()
          }}
          onClose={() => setTheirs(undefined)}
        />
      )}
    </Card>
  )
}
