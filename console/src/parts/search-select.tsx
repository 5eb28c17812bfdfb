/** Chooses one of many options: a button that opens a list with a search. */
import { useState } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { SearchBox } from './filter-bar.tsx'
import { Icon } from './icons.tsx'
import { cut, Text, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'

export interface SearchSelectProps {
  label: string
  placeholder?: string
  options: { value: string; label: string; description?: string | undefined }[]
  value: string
  onChange(value: string): void
  /** The text of the search. The caller reads the options that match it, or filters them. */
  search: string
  onSearch(text: string): void
  /** Shows the label above, as in a form. */
  isField?: boolean
}

export function SearchSelect(props: SearchSelectProps) {
  const { label, placeholder = texts.choose, options, value, onChange, search, onSearch, isField = false } = props
  const [isOpen, setOpen] = useState(false)
  const chosen = options.find((option) => option.value === value)?.label ?? value
  const shown = withoutInvisible(cut(chosen === '' ? placeholder : chosen, 60).shown)
  const trigger = (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <AriaButton
        className={`input select ${isField ? '' : 'multi-select'}`}
        aria-label={`${label}: ${shown}`}
        data-empty={chosen === '' || undefined}
      >
        <span className="select-value">{shown}</span>
        <Icon name="chevronDown" size={16} />
      </AriaButton>
      <Popover className="popover" placement="bottom start">
        <Dialog className="multi-select-dialog" aria-label={label}>
          <SearchBox label={texts.searchIn(label)} value={search} onChange={onSearch} />
          <ListBox
            className="menu"
            aria-label={label}
            items={options}
            selectionMode="single"
            selectedKeys={value === '' ? [] : [value]}
            onSelectionChange={(keys) => {
              const [key] = keys === 'all' ? [] : [...keys]
              if (key !== undefined) onChange(String(key))
              setOpen(false)
            }}
            renderEmptyState={() => <p className="menu-empty">{texts.nothingMatches}</p>}
          >
            {({ value, label, description }) => (
              <ListBoxItem id={value} textValue={label} className="menu-item menu-choice">
                <span>
                  <Text value={label} max={60} />
                  {description !== undefined && (
                    <small>
                      <Text value={description} max={60} />
                    </small>
                  )}
                </span>
                <Icon name="check" size={16} />
              </ListBoxItem>
            )}
          </ListBox>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
  if (!isField) return trigger
  return (
    <div className="field">
      <span className="field-label" aria-hidden="true">
        {label}
      </span>
      {trigger}
    </div>
  )
}
