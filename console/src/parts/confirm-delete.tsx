import { useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './fields.tsx'
import { ErrorNote } from './notes.tsx'
import type { Problem } from './problem.ts'
import { count, texts } from './texts.ts'

/** Number of objects that are deleted together with another object. */
export interface DeletedToo {
  /** Returns the words that follow the number. */
  name(count: number): string
  count: number
}

export interface ConfirmDeleteProps {
  /** Kind and name of the object that is deleted: `application meters`. */
  objectName: string
  /** Other objects that are deleted too; undefined while they are counted. */
  also?: DeletedToo[] | undefined
  /** A word that the user must type to confirm, for large deletions. */
  confirmationWord?: string
  isOpen: boolean
  isBusy: boolean
  problem?: Problem | undefined
  onConfirm(): void
  onClose(): void
}

/** Asks before a deletion, and shows how many other objects are deleted too. */
export function ConfirmDelete({
  objectName,
  also,
  confirmationWord,
  isOpen,
  isBusy,
  problem,
  onConfirm,
  onClose,
}: ConfirmDeleteProps) {
  const [typed, setTyped] = useState('')
  const present = also?.filter(({ count }) => count > 0)
  return (
    <Dialog
      title={texts.deleteTitle(objectName)}
      isOpen={isOpen}
      onClose={onClose}
      isAlert
      actions={
        <>
          <Button onPress={onClose}>{texts.cancel}</Button>
          <Button
            look="danger"
            icon="trash"
            onPress={onConfirm}
            isBusy={isBusy}
            isDisabled={confirmationWord !== undefined && typed !== confirmationWord}
          >
            {texts.delete}
          </Button>
        </>
      }
    >
      {present && present.length > 0 && (
        <>
          <p>{texts.deleteAlso}</p>
          <ul className="counts">
            {present.map(({ name, count: number }) => (
              <li key={name(number)}>
                <strong>{count(number)}</strong> {name(number)}
              </li>
            ))}
          </ul>
        </>
      )}
      <p>{texts.deleteForever}</p>
      {confirmationWord !== undefined && (
        <TextField label={texts.typeToConfirm(confirmationWord)} value={typed} onChange={setTyped} isRequired />
      )}
      {problem && <ErrorNote problem={problem} />}
    </Dialog>
  )
}
