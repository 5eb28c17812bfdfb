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
  /** Called when the question opens, to count the objects that would be deleted too. */
  onOpen?(): void
}

/** The menu of an object with its deletion, which asks before. */
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
