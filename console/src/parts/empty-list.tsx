import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import type { IconName } from './icons.tsx'
import { EmptyState } from './notes.tsx'
import { texts } from './texts.ts'

export interface EmptyListProps {
  /** True if conditions are set, so that other items may exist. */
  isFiltered: boolean
  /** Clears the conditions. */
  onClear(): void
  icon: IconName
  /** Text if nothing exists yet: `No snippets yet`. */
  title: string
  /** Text that explains what to do. */
  children: ReactNode
  /** A button that creates the first item; false if the caller may not create an item. */
  actions?: ReactNode
}

/** The value for `empty` of a table. It says that nothing matches the conditions, or that nothing exists yet and what to do. */
export function EmptyList({ isFiltered, onClear, icon, title, children, actions }: EmptyListProps) {
  if (isFiltered)
    return (
      <EmptyState
        icon="search"
        title={texts.nothingMatches}
        actions={<Button onPress={onClear}>{texts.clearFilters}</Button>}
      >
        {texts.nothingMatchesText}
      </EmptyState>
    )
  return (
    <EmptyState icon={icon} title={title} actions={actions || undefined}>
      {children}
    </EmptyState>
  )
}
