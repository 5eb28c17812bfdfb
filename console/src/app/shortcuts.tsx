import { Dialog } from '../parts/dialog.tsx'
import { texts } from './texts.ts'

export const Shortcuts = ({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) => (
  <Dialog title={texts.shortcuts} isOpen={isOpen} onClose={onClose}>
    <dl className="shortcuts">
      {texts.shortcutRows.map(([keys, text]) => (
        <div key={keys}>
          <dt>
            {keys.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)
