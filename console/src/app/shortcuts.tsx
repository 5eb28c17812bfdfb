import { Dialog } from '../parts/dialog.tsx'
import { texts } from './texts.ts'

const Shortcuts = ({ onClose }: { onClose(): void }) => (
  <Dialog title={texts.shortcuts} isOpen onClose={onClose}>
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

export default Shortcuts
