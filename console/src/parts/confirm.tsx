import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote, Note } from './notes.tsx'
import type { Problem } from './problem.ts'
import { texts } from './texts.ts'

export interface ConfirmProps {
  /** The question: `Suspend tenant acme?` */
  title: string
  /** Text that explains what will happen. */
  children: ReactNode
  /** Text of the button: `Suspend`. */
  action: string
  isDanger?: boolean
  isOpen: boolean
  isBusy: boolean
  /**
   * True if the object has changed since the dialog opened, so that the action no longer applies. The dialog then says so and has no button
   * for the action. Without this, a button could do the opposite of the question that the user has read.
   */
  isOutdated?: boolean
  problem?: Problem | undefined
  onConfirm(): void
  onClose(): void
}

/** Asks before an action other than a deletion; `ConfirmDelete` is for deletions. */
export function Confirm({ title, children, action, isDanger = false, ...rest }: ConfirmProps) {
  const { isOpen, isBusy, isOutdated = false, problem, onConfirm, onClose } = rest
  return (
    <Dialog
      title={title}
      isOpen={isOpen}
      onClose={onClose}
      isAlert
      actions={
        isOutdated && !isBusy ? (
          <Button onPress={onClose}>{texts.close}</Button>
        ) : (
          <>
            <Button onPress={onClose}>{texts.cancel}</Button>
            <Button look={isDanger ? 'danger' : 'primary'} onPress={onConfirm} isBusy={isBusy}>
              {action}
            </Button>
          </>
        )
      }
    >
      {isOutdated && !isBusy ? <Note tone="warn">{texts.outdated}</Note> : <p>{children}</p>}
      {problem && <ErrorNote problem={problem} />}
    </Dialog>
  )
}
