import { type ReactNode, useRef, useState } from 'react'
import { Dialog as AriaDialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { IconButton } from './button.tsx'
import { texts } from './texts.ts'
import { useTypedText } from './typed-text.ts'
import { formsWithText, LeaveContext, leaveDialog, useUnsaved } from './unsaved.ts'

export interface DialogProps {
  title: string
  isOpen: boolean
  onClose(): void
  children: ReactNode
  /** Buttons at the bottom. */
  actions?: ReactNode
  size?: 'small' | 'wide' | 'full'
  /** True for a dialog that asks before data is lost. A click outside does not close it. */
  isAlert?: boolean
  /** True if the input was already used, for example as the name of a stored file. The dialog then closes without a question. */
  isDone?: boolean
}

/**
 * A modal dialog. Escape closes it, and the focus returns to the previous element. If the dialog has unsaved input, it asks before it
 * closes.
 */
export function Dialog(props: DialogProps) {
  const { title, isOpen, onClose, children, actions, size = 'small', isAlert = false, isDone = false } = props
  const element = useRef<HTMLDivElement>(null)
  const { hasTyped, compareNow } = useTypedText(element, isOpen)
  const before = useFormsBefore(isOpen)
  const asks = !isAlert && !isDone
  // Text in fields outside of a form counts as unsaved input too, so that the page stays open if the user loses the permission for it.
  useUnsaved(hasTyped && asks)
  function leaveHere(action: () => void) {
    if (!asks) return action()
    compareNow()
    leaveDialog(action, before)
  }
  const close = () => leaveHere(onClose)
  return (
    <ModalOverlay
      className="overlay"
      isOpen={isOpen}
      onOpenChange={(open) => !open && close()}
      isDismissable={!isAlert}
    >
      <Modal ref={element} className={`modal modal-${size}`}>
        <AriaDialog className="dialog" role={isAlert ? 'alertdialog' : 'dialog'}>
          <LeaveContext value={leaveHere}>
            <div className="dialog-head">
              <Heading slot="title" level={2}>
                {title}
              </Heading>
              <IconButton icon="x" label={texts.close} onPress={close} />
            </div>
            <div className="dialog-body">{children}</div>
            {actions && <div className="dialog-actions">{actions}</div>}
          </LeaveContext>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

/** Returns the forms of the page that had unsaved input when the dialog opened. */
function useFormsBefore(isOpen: boolean): ReadonlySet<symbol> {
  const [known, setKnown] = useState({ isOpen, forms: formsWithText() })
  if (known.isOpen === isOpen) return known.forms
  const now = { isOpen, forms: formsWithText() }
  setKnown(now)
  return now.forms
}
