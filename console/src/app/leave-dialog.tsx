import { Confirm } from '../parts/confirm.tsx'
import { discardUnsaved, stayOnPage } from '../parts/unsaved.ts'
import { texts } from './texts.ts'

/** Asks before something typed is lost. */
export default function LeaveDialog() {
  return (
    <Confirm
      title={texts.leaveTitle}
      action={texts.leave}
      isDanger
      isOpen
      isBusy={false}
      onConfirm={discardUnsaved}
      onClose={stayOnPage}
    >
      {texts.leaveText}
    </Confirm>
  )
}
