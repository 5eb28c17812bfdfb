import type { Session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { texts } from './texts.ts'

/** Stays above the page, so that nothing typed is lost. */
export default function ExpiredDialog({ session }: { session: Session }) {
  return (
    <Dialog
      title={texts.expired}
      isOpen
      onClose={() => {}}
      isAlert
      actions={
        <Button look="primary" onPress={() => void session.signInAgain('new-tab')}>
          {texts.signIn}
        </Button>
      }
    >
      <p>{texts.expiredText}</p>
    </Dialog>
  )
}
