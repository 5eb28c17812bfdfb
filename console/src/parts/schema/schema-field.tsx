/** One field of a form that is made from a JSON schema: a suitable control, or a text field. */
import { useMemo, useState } from 'react'
import { Button } from '../button.tsx'
import { CheckList } from '../check-list.tsx'
import { SelectField, TextField } from '../fields.tsx'
import { Segments } from '../segments.tsx'
import { type FieldProps, notesOf, shownLabel } from './field-props.ts'
import {
  type Control,
  collapsed,
  type Field,
  fieldOf,
  fits,
  labelOf,
  newValueOf,
  optionName,
  optionOf,
  type Schema,
} from './schema.ts'
import { ArrayField, ObjectField } from './schema-containers.tsx'
import { schemaTexts as texts } from './schema-texts.ts'
import { TextValue } from './text-value.tsx'

/** Values below this depth are edited as text. */
const depthMax = 8

export function SchemaField(props: FieldProps) {
  const { root, schema, value, onChange, depth } = props
  const field = useMemo(() => fieldOf(root, schema), [root, schema])
  const [isOpen, setOpen] = useState(false)
  const isText = field.control.kind === 'text' || depth > depthMax
  // A text editor is large. While an optional value is absent, only a button is shown, which opens the editor.
  if ((isText || field.schema[collapsed] === true) && value === undefined && !props.isRequired && !isOpen)
    return (
      <div>
        <Button icon="plus" onPress={() => setOpen(true)}>
          {texts.add(shownLabel(props.label, 60))}
        </Button>
      </div>
    )
  if (isText) return <TextValue {...props} notes={notesOf(field.schema)} note={texts.asText} />
  if (!fits(field, value)) return <TextValue {...props} notes={notesOf(field.schema)} note={texts.otherKind} />
  if (!field.isNullable) return <ControlField {...props} field={field} />
  const isNull = value === null
  return (
    <div className="schema-nullable">
      {isNull ? (
        <p className="field-label">
          {shownLabel(props.label)}
          {props.name !== undefined && props.name !== props.label && (
            <code className="field-name">{shownLabel(props.name, 60)}</code>
          )}
        </p>
      ) : (
        <ControlField {...props} field={field} />
      )}
      <Segments<'value' | 'null'>
        label={texts.nullChoice(shownLabel(props.label))}
        value={isNull ? 'null' : 'value'}
        options={[
          { value: 'value', label: texts.value },
          { value: 'null', label: texts.nullValue },
        ]}
        onChange={(kind) => {
          if (kind === 'null') onChange(null)
          else if (isNull) onChange(newValueOf(root, schema))
        }}
      />
    </div>
  )
}

/**
 * Renders a field inside of a container. Containers get this function as a property, because containers and fields would otherwise import
 * each other.
 */
const childField = (props: FieldProps) => <SchemaField {...props} />

/** Properties that all plain controls have. */
function commonOf({ label, name, path, isRequired, violations }: FieldProps, schema: Schema) {
  return {
    label: shownLabel(label),
    ...(name !== undefined && name !== label && { name: shownLabel(name, 60) }),
    description: notesOf(schema),
    problem:
      violations
        .filter((violation) => violation.path === path)
        .map(({ message }) => message)
        .join('; ') || undefined,
    isRequired,
  }
}

function ControlField({ field, ...props }: FieldProps & { field: Field }) {
  const { control, schema } = field
  const { value, onChange, isRequired } = props
  const common = commonOf(props, schema)
  switch (control.kind) {
    case 'object':
      return <ObjectField {...props} control={control} notes={notesOf(schema)} child={childField} />
    case 'array':
      return <ListField {...props} control={control} resolved={schema} />
    case 'choice':
      return <ChoiceField {...props} options={control.options} notes={notesOf(schema)} />
    case 'number':
      return <NumberText {...common} value={value as number | string | undefined} onChange={onChange} />
    case 'boolean':
      return (
        <SelectField
          {...common}
          value={value === undefined ? 'none' : String(value)}
          onChange={(chosen) => onChange(chosen === 'none' ? undefined : chosen === 'true')}
          options={[
            ...(isRequired ? [] : [{ value: 'none', label: texts.notSet }]),
            { value: 'true', label: texts.on },
            { value: 'false', label: texts.off },
          ]}
        />
      )
    case 'enum':
      return <EnumField {...common} {...control} value={value} onChange={onChange} />
    case 'constant':
      return (
        <TextField {...common} value={labelOf(value ?? control.value)} onChange={() => onChange(control.value)} mono />
      )
    case 'string':
      return (
        <TextField
          {...common}
          value={(value as string | undefined) ?? ''}
          onChange={(text) => onChange(text === '' && !isRequired ? undefined : text)}
          {...(control.isLong && { lines: 3 })}
          type={control.isSecret ? 'password' : 'text'}
          mono={control.format !== undefined}
        />
      )
    case 'text':
      return <TextValue {...props} notes={notesOf(schema)} note={texts.asText} />
  }
}

type Common = ReturnType<typeof commonOf>

const numberOf = (text: string): unknown =>
  text.trim() === '' ? undefined : Number.isFinite(Number(text)) ? Number(text) : text

/**
 * A text field for numbers. The number field with steps is not used, because it rounds to three digits, and a form must not change values
 * by itself.
 */
function NumberText({
  value,
  onChange,
  ...common
}: Common & { value: number | string | undefined; onChange(value: unknown): void }) {
  const [typed, setTyped] = useState(() => labelOf(value ?? ''))
  const shown = numberOf(typed) === value ? typed : labelOf(value ?? '')
  return (
    <TextField
      {...common}
      problem={common.problem ?? (typeof value === 'string' ? texts.notNumber : undefined)}
      value={shown}
      onChange={(text) => {
        setTyped(text)
        onChange(numberOf(text))
      }}
      inputMode="decimal"
      mono
    />
  )
}

function EnumField({
  values,
  labels,
  kind: _,
  value,
  onChange,
  ...common
}: Common & Extract<Control, { kind: 'enum' }> & { value: unknown; onChange(value: unknown): void }) {
  const index = values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value))
  const isForeign = value !== undefined && index === -1
  return (
    <SelectField
      {...common}
      value={value === undefined ? (common.isRequired ? '' : 'none') : isForeign ? 'foreign' : String(index)}
      onChange={(chosen) => {
        if (chosen !== 'foreign') onChange(chosen === 'none' || chosen === '' ? undefined : values[Number(chosen)])
      }}
      options={[
        ...(common.isRequired ? [] : [{ value: 'none', label: texts.notSet }]),
        ...(isForeign ? [{ value: 'foreign', label: texts.notPermitted(shownLabel(labelOf(value), 60)) }] : []),
        ...values.map((one, at) => ({ value: String(at), label: shownLabel(labels?.[at] ?? labelOf(one)) })),
      ]}
    />
  )
}

/** A field for lists. If the items are chosen from a few texts, it shows checkboxes; otherwise it shows a field for each item. */
function ListField({
  control,
  resolved,
  ...props
}: FieldProps & { control: Extract<Control, { kind: 'array' }>; resolved: Schema }) {
  const items = fieldOf(props.root, control.items).control
  const value = (props.value as unknown[] | undefined) ?? []
  const isTexts = items.kind === 'enum' && items.values.every((one) => typeof one === 'string')
  if (!control.unique || !isTexts || !value.every((one) => items.values.includes(one)))
    return <ArrayField {...props} items={control.items} notes={notesOf(resolved)} child={childField} />
  return (
    <CheckList
      {...commonOf(props, resolved)}
      options={(items.values as string[]).map((one) => ({ value: one, label: shownLabel(one) }))}
      value={value as string[]}
      onChange={(chosen) => props.onChange(chosen.length === 0 && !props.isRequired ? undefined : chosen)}
    />
  )
}

function ChoiceField({ options, notes, ...props }: FieldProps & { options: unknown[]; notes: string }) {
  const { root, value, onChange, label, isRequired } = props
  // The alternative that the user chose is kept, because a new value can fit several alternatives.
  const [chosen, setChosen] = useState<number>()
  // Values of the other alternatives are kept, so that no input is lost when the user selects another alternative.
  const [kept, setKept] = useState<Record<number, unknown>>({})
  const guessed = useMemo(() => optionOf(root, options, value), [root, options, value])
  const current = chosen ?? guessed
  const isSet = value !== undefined || isRequired || chosen !== undefined
  return (
    <fieldset className="schema-group">
      <SelectField
        label={shownLabel(label)}
        {...(props.name !== undefined && props.name !== label && { name: shownLabel(props.name, 60) })}
        description={notes}
        isRequired={isRequired}
        value={isSet ? String(current) : 'none'}
        onChange={(option) => {
          setKept({ ...kept, [current]: value })
          if (option === 'none' || option === '') {
            setChosen(undefined)
            return onChange(undefined)
          }
          const next = Number(option)
          setChosen(next)
          if (next !== current || value === undefined) onChange(kept[next] ?? newValueOf(root, options[next]))
        }}
        options={[
          ...(isRequired ? [] : [{ value: 'none', label: texts.notSet }]),
          ...options.map((option, at) => ({ value: String(at), label: shownLabel(optionName(root, option, at)) })),
        ]}
      />
      {isSet && value !== undefined && (
        <SchemaField
          key={current}
          {...props}
          name={undefined}
          label={shownLabel(optionName(root, options[current], current))}
          schema={options[current]}
          isRequired
          isInline
          depth={props.depth + 1}
        />
      )}
    </fieldset>
  )
}
