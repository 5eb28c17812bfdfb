/** The bar above a dashboard: its variables, time, refresh and live state. */

import { useApplications } from '../../api/applications.ts'
import type { LiveState } from '../../api/live.ts'
import { useList } from '../../api/query.ts'
import { useEndpointChoice } from '../../api/series-choice.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { spokenDuration } from '../../parts/durations.ts'
import { SelectField } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { chosenOf } from '../../parts/periods.ts'
import { SearchSelect } from '../../parts/search-select.tsx'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { formatTime, nowMs } from '../../parts/time.tsx'
import { type Refresh, refreshes } from './context.tsx'
import type { Variable } from './definition.ts'
import { isMoving, periodOfText, resolved, timeDefault, timeName, type Values } from './references.ts'
import { texts } from './texts.ts'

export interface VariablesProps {
  variables: readonly Variable[]
  values: Values
  onChange(values: Values): void
  /** State and functions of the automatic refresh. Absent in the editor, which shows no controls for the refresh. */
  refreshing?: {
    refresh: Refresh
    onRefresh(refresh: Refresh): void
    onReload(): void
    live: LiveState | undefined
  }
}

export function Variables(props: VariablesProps) {
  const { variables, values, onChange, refreshing } = props
  const timeVariables = variables.filter(({ kind }) => kind === 'time')
  const others = variables.filter(({ kind }) => kind !== 'time')
  const shown: Pick<Variable, 'name' | 'label'>[] =
    timeVariables.length > 0 ? timeVariables : [{ name: timeName, label: texts.time }]
  return (
    <div className="dashboard-bar" role="group" aria-label={texts.bar}>
      {others.map((variable) => (
        <VariableField key={variable.name} variable={variable} {...props} />
      ))}
      <span className="dashboard-bar-space" />
      {refreshing?.live && <LiveNote state={refreshing.live} />}
      {shown.map(({ name, label }) => (
        <TimeField
          key={name}
          label={label ?? name}
          value={values[name] || timeDefault}
          onChange={(value) => onChange({ [name]: value })}
        />
      ))}
      {refreshing && (
        <>
          <SelectField
            label={texts.refresh}
            value={refreshing.refresh}
            onChange={(value) => refreshing.onRefresh(refreshes.find((one) => one === value) ?? 'live')}
            options={refreshes.map((value) => ({ value, label: texts.refreshes[value] }))}
            isCompact
          />
          <IconButton icon="refresh" label={texts.reload} onPress={refreshing.onReload} />
        </>
      )}
    </div>
  )
}

function LiveNote({ state }: { state: LiveState }) {
  const isLive = state.kind === 'live'
  return (
    <span
      className={isLive ? 'dashboard-live' : 'dashboard-live is-waiting'}
      role="status"
      title={state.kind === 'ended' ? withoutInvisible(cut(state.message, 200).shown) : undefined}
    >
      <Icon name={isLive ? 'zap' : 'clock'} size={13} />
      {texts.live[state.kind]}
    </span>
  )
}

type FieldProps = VariablesProps & { variable: Variable }

const labelOf = ({ label, name }: Variable) => withoutInvisible(cut(label || name, 60).shown)
/** Key of the option without a value. The list component accepts no empty key. */
const none = '*'

function VariableField(props: FieldProps) {
  if (props.variable.kind === 'endpoint') return <EndpointField {...props} />
  return props.variable.kind === 'application' ? <ApplicationField {...props} /> : <FilterField {...props} />
}

function EndpointField({ variable, variables, values, onChange }: FieldProps) {
  const { problem: _, ...choice } = useEndpointChoice(resolved(variables, values, 'application', undefined))
  return (
    <SearchSelect
      label={labelOf(variable)}
      placeholder={texts.chooseEndpoint}
      value={values[variable.name] ?? ''}
      onChange={(value) => onChange({ [variable.name]: value })}
      {...choice}
    />
  )
}

/** Returns the options. If the chosen value is not among them, it is added, so that it stays visible. */
const withChosen = (options: { value: string; label: string }[], value: string) =>
  value === '' || options.some((option) => option.value === value) ? options : [{ value, label: value }, ...options]

function ApplicationField({ variable, values, onChange }: FieldProps) {
  const { items } = useApplications()
  const value = values[variable.name] ?? ''
  const options = items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))
  return (
    <SelectField
      label={labelOf(variable)}
      value={value === '' ? none : value}
      onChange={(chosen) => onChange({ [variable.name]: chosen === none ? '' : chosen })}
      options={[{ value: none, label: texts.allApplications }, ...withChosen(options, value)]}
      isCompact
    />
  )
}

function FilterField({ variable, variables, values, onChange }: FieldProps) {
  const application = resolved(variables, values, 'application', undefined)
  const { items } = useList(
    'endpointFilters.list',
    { applicationName: application ?? '', limit: 200 },
    { enabled: application !== undefined },
  )
  const value = values[variable.name] ?? ''
  const options = items.map(({ id, name }) => ({ value: id, label: name }))
  return (
    <SelectField
      label={labelOf(variable)}
      value={value === '' ? none : value}
      onChange={(chosen) => onChange({ [variable.name]: chosen === none ? '' : chosen })}
      options={[{ value: none, label: texts.allEndpoints }, ...withChosen(options, value)]}
      isCompact
    />
  )
}

const durations = Object.keys(texts.durations)

/** Chooses the time: a duration until now, or a fixed period, which buttons can move and extend. */
function TimeField({ label, value, onChange }: { label: string; value: string; onChange(value: string): void }) {
  const moves = isMoving(value)
  const { from, to } = periodOfText(value, nowMs())
  const half = (to - from) / 2
  const isKnown = durations.includes(value)
  const options = [
    ...(isKnown
      ? []
      : [
          { value, label: moves ? texts.lastOf(spokenDuration(to - from)) : `${formatTime(from)} – ${formatTime(to)}` },
        ]),
    ...Object.entries(texts.durations).map(([value, label]) => ({ value, label })),
  ]
  return (
    <span className="time-choice">
      <IconButton
        icon="chevronLeft"
        label={texts.earlier}
        onPress={() => onChange(chosenOf({ from: from - half, to: to - half }))}
      />
      <SelectField
        label={withoutInvisible(cut(label, 60).shown)}
        value={value}
        onChange={onChange}
        options={options}
        isCompact
      />
      {!moves && (
        <>
          <IconButton
            icon="chevronRight"
            label={texts.later}
            onPress={() => onChange(chosenOf({ from: from + half, to: to + half }))}
          />
          <IconButton
            icon="minus"
            label={texts.zoomOut}
            onPress={() => onChange(chosenOf({ from: from - half, to: Math.min(to + half, nowMs()) }))}
          />
          <Button size="small" onPress={() => onChange(timeDefault)}>
            {texts.toNow}
          </Button>
        </>
      )}
    </span>
  )
}
