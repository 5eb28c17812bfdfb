/** Fields of forms. Each shows the name of the field in the API beside its label. */
import type { ReactNode } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { FieldError } from 'react-aria-components/FieldError'
import { Input } from 'react-aria-components/Input'
import { Label } from 'react-aria-components/Label'
import { ListBox, ListBoxItem } from 'react-aria-components/ListBox'
import { Popover } from 'react-aria-components/Popover'
import { Select as AriaSelect, SelectValue } from 'react-aria-components/Select'
import { Switch as AriaSwitch } from 'react-aria-components/Switch'
import { Text as SlotText } from 'react-aria-components/Text'
import { TextArea } from 'react-aria-components/TextArea'
import { TextField as AriaTextField } from 'react-aria-components/TextField'
import { Icon } from './icons.tsx'
import { isTooLong, lengthOf } from './text-length.ts'
import { texts } from './texts.ts'

export interface Common<T> {
  label: string
  /** Name of the field in the API. */
  name?: string
  value: T
  onChange(value: T): void
  description?: ReactNode
  /** The reason for which the platform rejected the value. */
  problem?: string | undefined
  isRequired?: boolean
  isDisabled?: boolean
  autoFocus?: boolean
}

export const FieldLabel = ({ label, name, isRequired }: Pick<Common<unknown>, 'label' | 'name' | 'isRequired'>) => (
  <Label className="field-label">
    {label}
    {name && <code className="field-name">{name}</code>}
    {!isRequired && <span className="field-optional">{texts.optional}</span>}
  </Label>
)

export function FieldNotes({ description, problem }: Pick<Common<unknown>, 'description' | 'problem'>) {
  return (
    <>
      {description && (
        <SlotText slot="description" className="field-description">
          {description}
        </SlotText>
      )}
      <FieldError className="field-error">{problem}</FieldError>
    </>
  )
}

/** Returns the properties for React Aria. The platform validates the values, so the browser must not block a form. */
export const ariaOf = ({
  name,
  isRequired = false,
  isDisabled = false,
  problem,
  autoFocus = false,
}: Common<never>) => ({
  ...(name !== undefined && { name }),
  isRequired,
  isDisabled,
  autoFocus,
  isInvalid: problem !== undefined,
  validationBehavior: 'aria' as const,
  className: 'field',
})

export interface TextFieldProps extends Common<string> {
  /** Number of lines of a multi-line field. */
  lines?: number
  /** The keyboard that a phone shows. */
  inputMode?: 'decimal'
  /**
   * Maximum number of characters. A longer text is not truncated: the field shows that it is too long, and the caller must not save it
   * (`isTooLong`).
   */
  lengthMax?: number
  type?: 'text' | 'password' | 'email' | 'url' | 'search' | 'datetime-local'
  placeholder?: string
  mono?: boolean
  autoComplete?: string
  /** True in a table row whose first cell names the field. The label is then not shown, but screen readers read it. */
  isCompact?: boolean
}

export function TextField({
  lines,
  type = 'text',
  placeholder,
  mono = false,
  autoComplete = 'off',
  isCompact = false,
  inputMode,
  lengthMax,
  ...given
}: TextFieldProps) {
  const isLong = lengthMax !== undefined && isTooLong(given.value, lengthMax)
  const field = isLong ? { ...given, problem: texts.tooLong(lengthOf(given.value), lengthMax) } : given
  const className = mono ? 'input input-mono' : 'input'
  return (
    <AriaTextField
      {...ariaOf(field as Common<never>)}
      value={field.value}
      onChange={field.onChange}
      type={type}
      autoComplete={autoComplete}
      {...(inputMode !== undefined && { inputMode })}
      {...(isCompact && { 'aria-label': [field.label, field.name].filter(Boolean).join(' ') })}
    >
      {!isCompact && <FieldLabel {...field} />}
      {lines === undefined ? (
        <Input className={className} placeholder={placeholder ?? ''} spellCheck={false} dir="auto" />
      ) : (
        <TextArea className={className} rows={lines} placeholder={placeholder ?? ''} dir="auto" />
      )}
      <FieldNotes {...field} />
    </AriaTextField>
  )
}

export interface SelectFieldProps extends Common<string> {
  options: { value: string; label: string; description?: string }[]
  placeholder?: string
  /** True for filters. The label is then not shown, but screen readers read it. */
  isCompact?: boolean
}

export function SelectField({ options, placeholder = texts.choose, isCompact = false, ...field }: SelectFieldProps) {
  return (
    <AriaSelect
      {...ariaOf(field as Common<never>)}
      value={field.value === '' ? null : field.value}
      onChange={(key) => field.onChange(key === null ? '' : String(key))}
      placeholder={placeholder}
      {...(isCompact && { 'aria-label': field.label, className: 'field field-compact' })}
    >
      {!isCompact && <FieldLabel {...field} />}
      <AriaButton className="input select">
        <SelectValue className="select-value">{({ selectedText }) => selectedText || placeholder}</SelectValue>
        <Icon name="chevronDown" size={16} />
      </AriaButton>
      <FieldNotes {...field} />
      <Popover className="popover">
        <ListBox className="menu" items={options}>
          {({ value, label, description }) => (
            <ListBoxItem id={value} textValue={label} className="menu-item menu-choice">
              <span>
                {label}
                {description && <small>{description}</small>}
              </span>
              <Icon name="check" size={16} />
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  )
}

export function SwitchField({ label, name, value, onChange, description, isDisabled = false }: Common<boolean>) {
  return (
    <div className="field">
      <AriaSwitch className="switch" isSelected={value} onChange={onChange} isDisabled={isDisabled}>
        <span className="switch-track" aria-hidden="true" />
        <span className="field-label">
          {label}
          {name && <code className="field-name">{name}</code>}
        </span>
      </AriaSwitch>
      {description && <p className="field-description">{description}</p>}
    </div>
  )
}
