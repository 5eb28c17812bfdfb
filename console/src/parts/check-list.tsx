import { useId, useState } from 'react'
import { Checkbox } from 'react-aria-components/Checkbox'
import { CheckboxGroup } from 'react-aria-components/CheckboxGroup'
import { Input } from 'react-aria-components/Input'
import { Label } from 'react-aria-components/Label'
import { SearchField } from 'react-aria-components/SearchField'
import { Icon } from './icons.tsx'
import { Text } from './text.tsx'
import { count, texts } from './texts.ts'

export interface CheckOption {
  value: string
  /** Text that is shown for the option. Default: the value itself. */
  label?: string
  description?: string
  /** True if users cannot change this choice. */
  isDisabled?: boolean
}

export interface CheckListProps {
  label: string
  /** Name of the field in the API. */
  name?: string
  options: CheckOption[]
  value: readonly string[]
  onChange(value: string[]): void
  description?: string
  problem?: string | undefined
}

/** The list has a search if it has at least this many options. */
const searchFrom = 10

/**
 * Chooses several of many options: a list of checkboxes with a search. `<CheckList label="Roles" options={…} {...form.field('roles')} />`
 */
export function CheckList({ label, name, options, value, onChange, description, problem }: CheckListProps) {
  const [q, setQ] = useState('')
  const id = useId()
  const searchText = q.toLowerCase()
  const shown = options.filter((option) =>
    [option.value, option.label, option.description].some((part) => part?.toLowerCase().includes(searchText)),
  )
  const shownValues = new Set(shown.map((option) => option.value))
  return (
    <CheckboxGroup
      className="field check-list"
      value={value.filter((one) => shownValues.has(one))}
      // Choices that the search hides stay selected.
      onChange={(chosen) => onChange([...value.filter((one) => !shownValues.has(one)), ...chosen])}
      isInvalid={problem !== undefined}
      {...((description || problem) && { 'aria-describedby': id })}
    >
      <Label className="field-label">
        {label}
        {name && <code className="field-name">{name}</code>}
        <span className="field-optional">{texts.selected(value.length)}</span>
      </Label>
      {options.length >= searchFrom && (
        <SearchField className="search" aria-label={texts.searchIn(label)} value={q} onChange={setQ}>
          <Icon name="search" size={16} />
          <Input className="input" placeholder={texts.searchIn(label)} spellCheck={false} dir="auto" />
        </SearchField>
      )}
      <div className="check-list-box">
        {shown.map((option) => (
          <Checkbox key={option.value} value={option.value} className="check" isDisabled={option.isDisabled ?? false}>
            <span className="check-mark" aria-hidden="true">
              <Icon name="check" size={12} />
            </span>
            <span className="check-texts">
              <Text value={option.label ?? option.value} max={100} mono={option.label === undefined} />
              {option.description && (
                <small>
                  <Text value={option.description} max={200} />
                </small>
              )}
            </span>
          </Checkbox>
        ))}
        {shown.length === 0 && <p className="quiet">{texts.nothingMatches}</p>}
      </div>
      {(description || problem) && (
        <div id={id}>
          {description && <span className="field-description">{description}</span>}
          {problem && <span className="field-error">{problem}</span>}
        </div>
      )}
      <span className="visually-hidden" role="status">
        {q === '' ? '' : count(shown.length)}
      </span>
    </CheckboxGroup>
  )
}
