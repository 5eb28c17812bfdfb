/** A field for a number. It is in a separate file, because its library is large and only few pages need it. */
import { Button as AriaButton } from 'react-aria-components/Button'
import { Group } from 'react-aria-components/Group'
import { Input } from 'react-aria-components/Input'
import { NumberField as AriaNumberField } from 'react-aria-components/NumberField'
import { ariaOf, type Common, FieldLabel, FieldNotes } from './fields.tsx'
import { Icon } from './icons.tsx'

export interface NumberFieldProps extends Common<number> {
  min?: number
  max?: number
  step?: number
}

/** A field for a number. The value NaN means that the field is empty. */
export function NumberField({ min, max, step, ...field }: NumberFieldProps) {
  return (
    <AriaNumberField
      {...ariaOf(field as Common<never>)}
      value={field.value}
      onChange={field.onChange}
      {...(min !== undefined && { minValue: min })}
      {...(max !== undefined && { maxValue: max })}
      {...(step !== undefined && { step })}
    >
      <FieldLabel {...field} />
      <Group className="number">
        <Input className="input" />
        <AriaButton slot="decrement" className="icon-button">
          <Icon name="minus" size={14} />
        </AriaButton>
        <AriaButton slot="increment" className="icon-button">
          <Icon name="plus" size={14} />
        </AriaButton>
      </Group>
      <FieldNotes {...field} />
    </AriaNumberField>
  )
}
