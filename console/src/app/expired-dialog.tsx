import type { Session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { discardUnsaved } from '../parts/unsaved.ts'
import { texts } from './texts.ts'

interface Props {
  session: Session
  /** True if the user signed out in another tab: the page is hidden, and what was typed can be discarded. */
  isSignedOut: boolean
}

/** Stays above the page, so that nothing typed is lost. */
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
