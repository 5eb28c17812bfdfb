import { Confirm } from '../parts/confirm.tsx'
import { discardUnsaved, stayOnPage, usePendingLeave } from '../parts/unsaved.ts'
import { texts } from './texts.ts'

/** Asks before unsaved input is lost. */
export default function LeaveDialog() {
  const isOfDialog = usePendingLeave()?.from === 'dialog'
  return (
    <Confirm
      title={isOfDialog ? texts.discardTitle : texts.leaveTitle}
      action={isOfDialog ? texts.discardDialog : texts.leave}
      isDanger
      isOpen
      isBusy={false}
      onConfirm={discardUnsaved}
      onClose={stayOnPage}
    >
      {isOfDialog ? texts.discardText : texts.leaveText}
    </Confirm>
  )
}
