import { Dialog as AriaDialog } from 'react-aria-components/Dialog'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { IconButton } from '../parts/button.tsx'
import { Brand } from './brand.tsx'
import { Navigation } from './navigation.tsx'
import { texts } from './texts.ts'

/** The navigation on a narrow screen. */
export default function Drawer({ onClose }: { onClose(): void }) {
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="drawer">
        <AriaDialog aria-label={texts.navigation} className="drawer-body">
          <div className="drawer-head">
            <Brand />
            <IconButton icon="x" label={texts.closeNavigation} onPress={onClose} />
          </div>
          <Navigation onNavigate={onClose} />
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}
