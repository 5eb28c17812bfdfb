import type { ReactNode } from 'react'
import { Menu as AriaMenu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { Separator } from 'react-aria-components/Separator'
import { useLocation } from 'wouter'
import { IconButton } from './button.tsx'
import { Icon, type IconName } from './icons.tsx'
import { texts } from './texts.ts'
import { leave } from './unsaved.ts'

export type MenuEntry =
  | 'line'
  | {
      id: string
      label: string
      icon?: IconName
      isDanger?: boolean
      isDisabled?: boolean
      to?: string
      onAction?: () => void
    }

/** A menu of actions. Without `trigger` it opens from a button with three dots. */
export function Menu({
  label = texts.moreActions,
  entries,
  trigger,
}: {
  label?: string
  entries: MenuEntry[]
  trigger?: ReactNode
}) {
  const [, navigate] = useLocation()
  return (
    <MenuTrigger>
      {trigger ?? <IconButton icon="more" label={label} />}
      <Popover className="popover" placement="bottom end">
        <AriaMenu className="menu" aria-label={label}>
          {entries.map((entry, index) =>
            entry === 'line' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no other name
              <Separator key={`line-${index}`} className="menu-line" />
            ) : (
              <MenuItem
                key={entry.id}
                id={entry.id}
                className={`menu-item${entry.isDanger ? ' menu-item-danger' : ''}`}
                isDisabled={entry.isDisabled ?? false}
                textValue={entry.label}
                onAction={() => (entry.to === undefined ? entry.onAction?.() : leave(() => navigate(entry.to!)))}
              >
                {entry.icon && <Icon name={entry.icon} size={16} />}
                <span>{entry.label}</span>
              </MenuItem>
            ),
          )}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  )
}
