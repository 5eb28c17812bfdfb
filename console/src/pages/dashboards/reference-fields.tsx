/** Fields that choose an application, endpoint or filter: a fixed object, or the value of a variable. */

import { useApplications } from '../../api/applications.ts'
import { useList } from '../../api/query.ts'
import { useEndpointChoice } from '../../api/series-choice.ts'
import { SelectField } from '../../parts/fields.tsx'
import { SearchSelect } from '../../parts/search-select.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import type { Variable, VariableKind } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'

export interface ReferenceProps {
  label: string
  variables: readonly Variable[]
  value: string | undefined
  /** Called with the chosen value, or with undefined if nothing is chosen. */
  onChange(value: string | undefined): void
  /** Application whose endpoints or filters are offered. */
  application?: string | undefined
  /** Offers only fixed objects and no variables, for example for the initial value of a variable. */
  isPlain?: boolean
}

/** Key of the option without a value. The list component accepts no empty key. */
const none = '*'
const short = (text: string) => withoutInvisible(cut(text, 80).shown)

const variableOptions = (variables: readonly Variable[], kind: VariableKind) =>
  variables
    .filter((variable) => variable.kind === kind)
    .map(({ name, label }) => ({ value: `$${name}`, label: texts.variable(short(label || name)) }))

const withChosen = <T extends { value: string; label: string }>(options: T[], value: string | undefined) =>
  value === undefined || options.some((option) => option.value === value)
    ? options
    : [...options, { value, label: short(value) }]

export function ApplicationReference({ label, variables, value, onChange, isPlain = false }: ReferenceProps) {
  const { items } = useApplications()
  const known = items.map(({ name, displayName }) => ({ value: name, label: short(displayName ?? name) }))
  const options = [
    { value: none, label: isPlain ? texts.noValue : texts.firstVariable },
    ...variableOptions(variables, 'application'),
    ...known,
  ]
  return (
    <SelectField
      label={label}
      name="application"
      value={value ?? none}
      onChange={(chosen) => onChange(chosen === none ? undefined : chosen)}
      options={withChosen(options, value)}
    />
  )
}

export function FilterReference({ label, variables, value, onChange, application }: ReferenceProps) {
  const { items } = useList(
    'endpointFilters.list',
    { applicationName: application ?? '', limit: 200 },
    { enabled: application !== undefined },
  )
  const known = items.map(({ id, name }) => ({ value: id, label: short(name) }))
  const options = [{ value: none, label: texts.noFilter }, ...variableOptions(variables, 'filter'), ...known]
  return (
    <SelectField
      label={label}
      name="filter"
      value={value ?? none}
      onChange={(chosen) => onChange(chosen === none ? undefined : chosen)}
      options={withChosen(options, value)}
    />
  )
}

export function EndpointReference({ label, variables, value, onChange, application, isPlain = false }: ReferenceProps) {
  const { options, search, onSearch } = useEndpointChoice(application)
  const all = [
    { value: none, label: isPlain ? texts.noValue : texts.firstVariable },
    ...variableOptions(variables, 'endpoint'),
    ...options,
  ]
  return (
    <SearchSelect
      label={label}
      value={value ?? none}
      onChange={(chosen) => onChange(chosen === none ? undefined : chosen)}
      options={all}
      search={search}
      onSearch={onSearch}
      isField
    />
  )
}
