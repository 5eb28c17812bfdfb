/** Fields for objects and lists, in a form that is made from a JSON schema. */
import { Fragment, type ReactNode, useId, useState } from 'react'
import { Button, IconButton } from '../button.tsx'
import { SearchBox } from '../filter-bar.tsx'
import { type FieldProps, shownLabel } from './field-props.ts'
import { isObject, newValueOf, pointer, withKey } from './schema.ts'
import { schemaTexts as texts } from './schema-texts.ts'
import { OtherKeys } from './text-value.tsx'

/** Number of fields or items that are shown first; a button shows more. */
const fieldsPerStep = 50
/** An object with at least this many fields has a search. */
const searchFrom = 25

interface ContainerProps extends FieldProps {
  notes: string
  /** Shows a field of the container. */
  child(props: FieldProps): ReactNode
}

interface ObjectProps extends ContainerProps {
  control: { properties: [name: string, schema: unknown][]; required: Set<string>; more: boolean }
}

export function ObjectField(props: ObjectProps) {
  const { control, value, onChange, root, schema, name, label, path, depth, isRequired, notes } = props
  const isRoot = (name === undefined && depth === 0) || props.isInline === true
  if (value === undefined && !isRoot && !isRequired)
    return (
      <div>
        <Button icon="plus" onPress={() => onChange(newValueOf(root, schema) ?? {})}>
          {texts.add(shownLabel(label, 60))}
        </Button>
      </div>
    )
  const object = isObject(value) ? value : {}
  const fields = <Properties {...props} object={object} />
  if (isRoot) return fields
  return (
    <Group
      {...props}
      notes={notes}
      hasProblem={props.violations.some((violation) => violation.path.startsWith(path))}
      onRemove={isRequired || name === undefined ? undefined : () => onChange(undefined)}
      isOpenAtFirst={depth < 2 || Object.keys(object).length === 0}
      count={control.properties.length}
    >
      {fields}
    </Group>
  )
}

function Properties({ object, ...props }: ObjectProps & { object: Record<string, unknown> }) {
  const { control, root, path, depth, violations, onChange, label, child } = props
  const [limit, setLimit] = useState(fieldsPerStep)
  const [q, setQ] = useState('')
  const { properties, required } = control
  const searchText = q.toLowerCase()
  const matching =
    q === ''
      ? properties
      : properties.filter(([key, schema]) => `${key} ${titleOf(schema)}`.toLowerCase().includes(searchText))
  const wrong = new Set(violations.map((violation) => violation.path))
  // A field with a problem is shown even if its position is beyond the limit.
  const shown = matching.filter(([key], at) => at < limit || wrong.has(pointer(path, key)))
  const known = new Set(properties.map(([key]) => key))
  return (
    <>
      {properties.length >= searchFrom && (
        <SearchBox label={texts.search(shownLabel(label, 40))} value={q} onChange={setQ} />
      )}
      {shown.map(([key, schema]) => (
        <Fragment key={key}>
          {child({
            ...{ root, schema, violations, name: key, label: titleOf(schema) || key, path: pointer(path, key) },
            value: Object.hasOwn(object, key) ? object[key] : undefined,
            onChange: (value) => onChange(withKey(object, key, value)),
            isRequired: required.has(key),
            depth: depth + 1,
          })}
        </Fragment>
      ))}
      {q !== '' && matching.length === 0 && <p className="quiet">{texts.nothingFound}</p>}
      {matching.length > shown.length && (
        <div>
          <Button onPress={() => setLimit(limit + fieldsPerStep)}>
            {texts.moreFields(Math.min(fieldsPerStep, matching.length - shown.length))}
          </Button>
        </div>
      )}
      <OtherKeys
        object={object}
        known={known}
        mayAdd={control.more}
        violations={violations}
        path={path}
        onChange={onChange}
      />
    </>
  )
}

const titleOf = (schema: unknown) => (isObject(schema) && typeof schema.title === 'string' ? schema.title : '')

interface ArrayProps extends ContainerProps {
  items: unknown
}

export function ArrayField(props: ArrayProps) {
  const { items, value, onChange, root, label, path, depth, violations, isRequired, notes, child } = props
  const [limit, setLimit] = useState(fieldsPerStep)
  const list = Array.isArray(value) ? value : []
  const change = (next: unknown[]) =>
    onChange(next.length === 0 && !isRequired && props.name !== undefined ? undefined : next)
  const set = (index: number, item: unknown) => change(list.map((one, at) => (at === index ? (item ?? null) : one)))
  return (
    <Group
      {...props}
      notes={notes}
      hasProblem={violations.some((violation) => violation.path.startsWith(path))}
      isOpenAtFirst={depth < 3 && list.length <= 10}
      count={list.length}
    >
      {list.slice(0, limit).map((item, index) => {
        const name = texts.item(index + 1)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name
          <div key={index} className="schema-item">
            {child({
              ...{ root, violations, schema: items, label: name, path: pointer(path, index), value: item },
              onChange: (next) => set(index, next),
              isRequired: true,
              depth: depth + 1,
            })}
            <div className="schema-item-actions">
              {index > 0 && (
                <IconButton icon="arrowUp" label={texts.up(name)} onPress={() => change(moved(list, index))} />
              )}
              <IconButton
                icon="trash"
                label={texts.remove(name)}
                onPress={() => change(list.filter((_, at) => at !== index))}
              />
            </div>
          </div>
        )
      })}
      <div className="schema-actions">
        {list.length > limit && (
          <Button onPress={() => setLimit(limit + fieldsPerStep)}>
            {texts.moreFields(Math.min(fieldsPerStep, list.length - limit))}
          </Button>
        )}
        <Button
          icon="plus"
          onPress={() => {
            change([...list, newValueOf(root, items) ?? null])
            setLimit(Math.max(limit, list.length + 1))
          }}
        >
          {texts.addItem}
        </Button>
      </div>
      {ownProblems(props).map((message) => (
        <p key={message} className="field-error" role="alert">
          {message}
        </p>
      ))}
      <span className="visually-hidden">{shownLabel(label)}</span>
    </Group>
  )
}

const ownProblems = ({ violations, path }: FieldProps) =>
  violations.filter((violation) => violation.path === path).map(({ message }) => message)

const moved = (list: unknown[], index: number) =>
  list.map((one, at) => (at === index - 1 ? list[index] : at === index ? list[index - 1] : one))

interface GroupProps extends FieldProps {
  notes: string
  hasProblem: boolean
  isOpenAtFirst: boolean
  count: number
  onRemove?: (() => void) | undefined
  children: ReactNode
}

/** A group of fields with a heading. Large groups are closed at first, but a group with a problem is open. */
function Group({ label, name, notes, hasProblem, isOpenAtFirst, count, onRemove, children }: GroupProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const id = useId()
  const isShown = isOpen || hasProblem
  const title = shownLabel(label)
  return (
    <fieldset className="schema-group" aria-labelledby={`${id}-title`}>
      <div className="schema-group-head">
        <IconButton
          icon={isShown ? 'chevronDown' : 'chevronRight'}
          label={isShown ? texts.hide(title) : texts.show(title)}
          onPress={() => setOpen(!isShown)}
        />
        <span className="field-label" id={`${id}-title`}>
          {title}
          {name !== undefined && name !== label && <code className="field-name">{shownLabel(name, 60)}</code>}
          {!isShown && <span className="field-optional">{count}</span>}
        </span>
        {onRemove && <IconButton icon="trash" label={texts.remove(title)} onPress={onRemove} />}
      </div>
      {isShown && (
        <div className="schema-group-body">
          {notes !== '' && <p className="field-description">{notes}</p>}
          {children}
        </div>
      )}
    </fieldset>
  )
}
