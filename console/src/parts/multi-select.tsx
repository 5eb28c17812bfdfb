/** Chooses several of many options: a button that opens a list with a search. */
import { Button as AriaButton } from 'react-aria-components/Button'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { SearchBox } from './filter-bar.tsx'
import { Icon } from './icons.tsx'
import { Text } from './text.tsx'
import { texts } from './texts.ts'

export interface MultiSelectProps {
  label: string
  /** Shown on the button, for example `3 series`. */
  summary: string
  options: { value: string; label: string }[]
  values: string[]
  onChange(values: string[]): void
  /** The text of the search. The caller reads the options that match it, or filters them. */
  search: string
  onSearch(text: string): void
}

/** The button and its list. Chosen options stay in the list while a search hides other options. */
export function MultiSelect({ label, summary, options, values, onChange, search, onSearch }: MultiSelectProps) {
  const known = new Set(options.map(({ value }) => value))
  const chosen = values.filter((value) => !known.has(value)).map((value) => ({ value, label: value }))
  const shown = [...chosen, ...options]
  return (
    <DialogTrigger>
      <AriaButton className="input select multi-select" aria-label={`${label}: ${summary}`}>
        <span className="select-value">{summary}</span>
        <Icon name="chevronDown" size={16} />
      </AriaButton>
      <Popover className="popover" placement="bottom start">
        <Dialog className="multi-select-dialog" aria-label={label}>
          <SearchBox label={label} value={search} onChange={onSearch} />
          <ListBox
            className="menu"
            aria-label={label}
            items={shown}
            selectionMode="multiple"
            // Escape only closes the list. By default it would also clear the choice.
            escapeKeyBehavior="none"
            selectedKeys={values}
            onSelectionChange={(keys) =>
              onChange(keys === 'all' ? shown.map(({ value }) => value) : [...keys].map(String))
            }
            renderEmptyState={() => <p className="menu-empty">{texts.nothingMatches}</p>}
          >
            {({ value, label }) => (
              <ListBoxItem id={value} textValue={label} className="menu-item menu-choice">
                <span>
                  <Text value={label} max={60} />
                </span>
                <Icon name="check" size={16} />
              </ListBoxItem>
            )}
          </ListBox>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}
