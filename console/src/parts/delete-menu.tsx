import { useState } from 'react'
import { ConfirmDelete, type ConfirmDeleteProps } from './confirm-delete.tsx'
import { Menu, type MenuEntry } from './menu.tsx'
import { texts } from './texts.ts'

export type DeleteMenuProps = Pick<
  ConfirmDeleteProps,
  'objectName' | 'also' | 'confirmationWord' | 'isBusy' | 'problem' | 'onConfirm'
> & {
  /** Entries above the deletion. */
  entries?: MenuEntry[]
  /** Called when the dialog opens, to count the other objects that would be deleted. */
  onOpen?(): void
}

/** The menu of an object, with an entry that deletes the object after a confirmation. */
export function DeleteMenu({ entries = [], onOpen, ...question }: DeleteMenuProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Menu
        entries={[
          ...entries,
          {
            ...{ id: 'delete', label: texts.delete, icon: 'trash' as const, isDanger: true },
            onAction: () => {
              onOpen?.()
              setOpen(true)
            },
          },
        ]}
      />
      <ConfirmDelete {...question} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}
