import { DropZone } from 'react-aria-components/DropZone'
import { FileTrigger } from 'react-aria-components/FileTrigger'
import { Button } from './button.tsx'
import { Icon } from './icons.tsx'

/** Lets the user choose one file with a button, by dropping it, or by pasting it. */
export function FileDrop({
  label,
  hint,
  action,
  onFile,
}: {
  label: string
  hint: string
  /** Text of the button. */
  action: string
  onFile(file: File): void
}) {
  return (
    <DropZone
      className="file-drop"
      aria-label={label}
      getDropOperation={() => 'copy'}
      onDrop={({ items }) => {
        const item = items.find((one) => one.kind === 'file')
        if (item) void item.getFile().then(onFile)
      }}
    >
      <Icon name="upload" size={22} />
      <span>{hint}</span>
      <FileTrigger
        onSelect={(files) => {
          const file = files?.[0]
          if (file) onFile(file)
        }}
      >
        <Button icon="file">{action}</Button>
      </FileTrigger>
    </DropZone>
  )
}
