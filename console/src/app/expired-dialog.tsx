import type { Session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { discardUnsaved } from '../parts/unsaved.ts'
import { texts } from './texts.ts'

interface Props {
  session: Session
  /** True if the user signed out in another tab. The page is then hidden, and the user can discard the input. */
  isSignedOut: boolean
}

/** Dialog above the page when the session has ended. The page stays open, so that its input is not lost. */
export default function ExpiredDialog({ session, isSignedOut }: Props) {
  return (
    <Dialog
      title={isSignedOut ? texts.signedOut : texts.expired}
      isOpen
      onClose={() => {}}
      isAlert
      actions={
        <>
          {isSignedOut && <Button onPress={discardUnsaved}>{texts.discard}</Button>}
          <Button look="primary" onPress={() => void session.signInAgain('new-tab')}>
            {texts.signIn}
          </Button>
        </>
      }
    >
      <p>{isSignedOut ? texts.signedOutTyped : texts.expiredText}</p>
    </Dialog>
  )
}
