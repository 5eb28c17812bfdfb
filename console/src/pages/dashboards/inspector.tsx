/** The settings of one widget. */
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { severityLevels, severityTexts } from '../../parts/severity.tsx'
import { texts as partTexts } from '../../parts/texts.ts'
import { useDashboard } from './context.tsx'
import { columnsProblem, lengths, type Variable, type Widget, type WidgetOf } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'
import { plainColumns, titleOfColumn } from './endpoint-fields.tsx'
import type { Rectangle } from './layout.ts'
import { ApplicationReference, EndpointReference, FilterReference } from './reference-fields.tsx'
import { ChartSeriesFields, SeriesFields, ThresholdFields, withField } from './series-fields.tsx'

export interface InspectorProps<W extends Widget = Widget> {
  widget: W
  variables: readonly Variable[]
  /** `name` is the name of the changed field. Undo reverts consecutive changes of one field together. */
  onChange(widget: Widget, name: string): void
  onPlace(rectangle: Rectangle): void
  onDuplicate(): void
  onRemove(): void
}

const optionsOf = (names: Record<string, string>) => Object.entries(names).map(([value, label]) => ({ value, label }))

export function Inspector(props: InspectorProps) {
  const { widget, onChange } = props
  return (
    <div className="inspector-fields">
      <TextField
        label={texts.title}
        name="title"
        value={widget.title ?? ''}
        onChange={(title) => onChange(withField(widget, 'title', title), 'title')}
        lengthMax={lengths.title}
        description={texts.titleNote}
      />
      <KindFields {...props} />
      <PlaceFields {...props} />
      <div className="form-actions">
        <Button size="small" icon="copy" onPress={props.onDuplicate}>
          {texts.duplicate}
        </Button>
        <Button size="small" icon="trash" onPress={props.onRemove}>
          {texts.removeWidget}
        </Button>
      </div>
    </div>
  )
}

function KindFields(props: InspectorProps) {
  const { widget } = props
  if (widget.kind === 'chart') return <ChartFields {...props} widget={widget} />
  if (widget.kind === 'value') return <ValueFields {...props} widget={widget} />
  if (widget.kind === 'table') return <TableFields {...props} widget={widget} />
  if (widget.kind === 'map') return <MapFields {...props} widget={widget} />
  if (widget.kind === 'alerts') return <AlertFields {...props} widget={widget} />
  if (widget.kind === 'command') return <CommandFields {...props} widget={widget} />
  return <TextFields {...props} widget={widget} />
}

function PlaceFields({ widget: { x, y, width, height }, onPlace }: InspectorProps) {
  const place = { x, y, width, height }
  const set = (changed: Partial<Rectangle>) => {
    if (!Object.values(changed).some(Number.isNaN)) onPlace({ ...place, ...changed })
  }
  return (
    <details className="inspector-group">
      <summary>{texts.placeGroup}</summary>
      <div className="inspector-pairs">
        <NumberField label={texts.x} name="x" value={x} onChange={(x) => set({ x })} min={0} max={23} isRequired />
        <NumberField label={texts.y} name="y" value={y} onChange={(y) => set({ y })} min={0} max={2000} isRequired />
        <NumberField
          {...{ label: texts.width, name: 'width', value: width, min: 1, max: 24, isRequired: true }}
          onChange={(width) => set({ width })}
        />
        <NumberField
          {...{ label: texts.height, name: 'height', value: height, min: 1, max: 200, isRequired: true }}
          onChange={(height) => set({ height })}
        />
      </div>
    </details>
  )
}

type Of<K extends Widget['kind']> = InspectorProps<WidgetOf<K>>

/** Chooses the time variable of a widget. It is shown only if the dashboard has several time variables. */
function TimeField({ widget, variables, onChange }: Of<'chart'> | Of<'value'>) {
  const timeVariables = variables.filter(({ kind }) => kind === 'time')
  if (timeVariables.length < 2) return null
  return (
    <SelectField
      label={texts.time}
      name="time"
      value={widget.time ?? `$${timeVariables[0]!.name}`}
      onChange={(time) => onChange({ ...widget, time }, 'time')}
      options={timeVariables.map(({ name, label }) => ({ value: `$${name}`, label: label || name }))}
    />
  )
}

const UnitField = ({ widget, onChange }: Of<'chart'> | Of<'value'>) => (
  <TextField
    label={texts.unit}
    name="unit"
    value={widget.unit ?? ''}
    onChange={(unit) => onChange(withField(widget, 'unit', unit), 'unit')}
    lengthMax={lengths.unit}
  />
)

function ChartFields(props: Of<'chart'>) {
  const { widget, variables, onChange } = props
  return (
    <>
      <ChartSeriesFields
        widget={widget}
        variables={variables}
        onChange={(series) => onChange({ ...widget, series }, 'series')}
      />
      <SelectField
        label={texts.style}
        name="style"
        value={widget.style ?? 'line'}
        onChange={(style) => onChange({ ...widget, style: style as 'line' }, 'style')}
        options={optionsOf(texts.styles)}
      />
      <SelectField
        label={texts.aggregate}
        name="aggregate"
        value={widget.aggregate ?? 'none'}
        onChange={(aggregate) => onChange({ ...widget, aggregate: aggregate as 'none' }, 'aggregate')}
        options={optionsOf(texts.aggregates)}
      />
      <UnitField {...props} />
      <TimeField {...props} />
      <ThresholdFields
        thresholds={widget.thresholds ?? []}
        onChange={(thresholds) => onChange({ ...widget, thresholds }, 'thresholds')}
      />
    </>
  )
}

function ValueFields(props: Of<'value'>) {
  const { widget, variables, onChange } = props
  const { none: _, ...functions } = texts.aggregates
  return (
    <>
      <fieldset className="inspector-group">
        <legend>{texts.series}</legend>
        <SeriesFields
          series={widget.series}
          variables={variables}
          onChange={(series) => onChange({ ...widget, series }, 'series')}
        />
      </fieldset>
      <SelectField
        label={texts.aggregate}
        name="aggregate"
        value={widget.aggregate ?? 'last'}
        onChange={(aggregate) => onChange({ ...widget, aggregate: aggregate as 'last' }, 'aggregate')}
        options={optionsOf(functions)}
      />
      <UnitField {...props} />
      <NumberField
        label={texts.decimals}
        name="decimals"
        value={widget.decimals ?? Number.NaN}
        onChange={(decimals) =>
          onChange(withField(widget, 'decimals', Number.isNaN(decimals) ? undefined : decimals), 'decimals')
        }
        min={0}
        max={10}
      />
      <TimeField {...props} />
      <ThresholdFields
        thresholds={widget.thresholds ?? []}
        onChange={(thresholds) => onChange({ ...widget, thresholds }, 'thresholds')}
      />
    </>
  )
}

/** The application and filter of tables, maps and lists of alerts. */
function EndpointsFields(props: Of<'table'> | Of<'map'> | Of<'alerts'>) {
  const { widget, variables, onChange } = props
  const dashboard = useDashboard()
  return (
    <>
      <ApplicationReference
        label={texts.application}
        variables={variables}
        value={widget.application}
        onChange={(application) => onChange(withField(widget, 'application', application), 'application')}
      />
      <FilterReference
        label={texts.filter}
        variables={variables}
        application={dashboard.chosen('application', widget.application)}
        value={widget.filter}
        onChange={(filter) => onChange(withField(widget, 'filter', filter), 'filter')}
      />
    </>
  )
}

const LimitField = ({ widget, onChange }: Of<'table'> | Of<'alerts'>) => (
  <NumberField
    label={texts.limit}
    name="limit"
    value={widget.limit ?? Number.NaN}
    onChange={(limit) => onChange(withField(widget, 'limit', Number.isNaN(limit) ? undefined : limit), 'limit')}
    min={1}
    max={1000}
  />
)

function TableFields(props: Of<'table'>) {
  const { widget, onChange } = props
  const metadataColumns = widget.columns.filter((column) => !plainColumns.includes(column))
  // The text field keeps the text as it was typed, including empty lines.
  const [typed, setTyped] = useState(metadataColumns.join('\n'))
  const set = (plain: string[], lines: string) => {
    const more = lines.split('\n').map((line) => line.trim())
    const columns = [...plain, ...new Set(more.filter((line) => line !== '' && !plain.includes(line)))]
    onChange({ ...widget, columns }, 'columns')
  }
  const plain = widget.columns.filter((column) => plainColumns.includes(column))
  return (
    <>
      <EndpointsFields {...props} />
      <CheckList
        label={texts.columns}
        name="columns"
        options={plainColumns.map((value) => ({ value, label: titleOfColumn(value) }))}
        value={plain}
        onChange={(chosen) => set(chosen, typed)}
      />
      <TextField
        label={texts.moreColumns}
        value={typed}
        onChange={(lines) => {
          setTyped(lines)
          set(plain, lines)
        }}
        description={texts.moreColumnsNote}
        problem={columnsProblem(widget.columns)}
        lines={3}
        mono
      />
      <TextField
        label={texts.sort}
        name="sort"
        value={widget.sort ?? ''}
        onChange={(sort) => onChange(withField(widget, 'sort', sort), 'sort')}
        lengthMax={lengths.sort}
        description={texts.sortNote}
        mono
      />
      <LimitField {...props} />
    </>
  )
}

function MapFields(props: Of<'map'>) {
  const { widget, onChange } = props
  return (
    <>
      <EndpointsFields {...props} />
      <TextField
        label={texts.mapLabel}
        name="label"
        value={widget.label ?? ''}
        onChange={(label) => onChange(withField(widget, 'label', label), 'label')}
        lengthMax={lengths.place}
        description={texts.mapLabelNote}
        mono
      />
      <TextField
        label={texts.colourBy}
        name="colourBy"
        value={widget.colourBy ?? ''}
        onChange={(colourBy) => onChange(withField(widget, 'colourBy', colourBy), 'colourBy')}
        lengthMax={lengths.colourBy}
        description={texts.colourByNote}
        mono
      />
    </>
  )
}

const alertStates = [
  { value: 'OPEN', label: partTexts.alertOpen },
  { value: 'RESOLVED', label: partTexts.alertResolved },
]

function AlertFields(props: Of<'alerts'>) {
  const { widget, variables, onChange } = props
  return (
    <>
      <EndpointsFields {...props} />
      <EndpointReference
        label={texts.endpoint}
        variables={variables}
        value={widget.endpoint}
        onChange={(endpoint) => onChange(withField(widget, 'endpoint', endpoint), 'endpoint')}
      />
      <CheckList
        label={texts.states}
        name="states"
        options={alertStates}
        value={widget.states ?? ['OPEN']}
        onChange={(states) => onChange({ ...widget, states }, 'states')}
      />
      <CheckList
        label={texts.severities}
        name="severities"
        options={severityLevels.map((value) => ({ value, label: severityTexts[value] }))}
        value={widget.severities ?? []}
        onChange={(severities) => onChange({ ...widget, severities }, 'severities')}
      />
      <LimitField {...props} />
    </>
  )
}

function CommandFields({ widget, variables, onChange }: Of<'command'>) {
  const [payload, setPayload] = useState(widget.payload === undefined ? '' : JSON.stringify(widget.payload, null, 2))
  const setPayloadText = (text: string) => {
    setPayload(text)
    const { payload: _, ...rest } = widget
    if (text.trim() === '') return onChange(rest, 'payload')
    const parsed = parseJson(text)
    if (parsed.problem === undefined) onChange({ ...widget, payload: parsed.value as never }, 'payload')
  }
  return (
    <>
      <EndpointReference
        label={texts.endpoint}
        variables={variables}
        value={widget.endpoint}
        onChange={(endpoint) => onChange(withField(widget, 'endpoint', endpoint), 'endpoint')}
      />
      <TextField
        label={texts.commandType}
        name="commandType"
        value={widget.commandType}
        onChange={(commandType) => onChange({ ...widget, commandType }, 'commandType')}
        lengthMax={lengths.commandType}
        isRequired
        mono
      />
      <JsonField label={texts.payload} name="payload" value={payload} onChange={setPayloadText} />
      <TextField
        label={texts.buttonLabel}
        name="label"
        value={widget.label ?? ''}
        onChange={(label) => onChange(withField(widget, 'label', label), 'label')}
        lengthMax={lengths.label}
      />
      <TextField
        label={texts.confirm}
        name="confirm"
        value={widget.confirm ?? ''}
        onChange={(confirm) => onChange(withField(widget, 'confirm', confirm), 'confirm')}
        lengthMax={lengths.confirm}
        description={texts.confirmNote}
      />
    </>
  )
}

const TextFields = ({ widget, onChange }: Of<'text'>) => (
  <TextField
    label={texts.text}
    name="text"
    value={widget.text}
    onChange={(text) => onChange({ ...widget, text }, 'text')}
    lengthMax={lengths.text}
    description={texts.textNote}
    lines={14}
    mono
  />
)
