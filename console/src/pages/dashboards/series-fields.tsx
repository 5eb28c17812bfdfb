/** Fields for the series of a chart or value widget: which series the widget shows, and with which labels, colours and thresholds. */
import { useState } from 'react'
import { useSeriesChoice } from '../../api/series-choice.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { withoutMark } from '../../parts/chart-series.ts'
import { colourNames, colourOf } from '../../parts/colours.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { SearchSelect } from '../../parts/search-select.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { useDashboard } from './context.tsx'
import { labelOf, lengths, type SeriesReference, type Variable, type WidgetOf } from './definition.ts'
import { editTexts as texts } from './edit-texts.ts'
import { EndpointReference } from './reference-fields.tsx'

/** Returns a copy with a new value of an optional field. If the value is empty, the copy does not have the field. */
export function withField<T extends object, K extends keyof T>(object: T, key: K, value: T[K] | undefined | ''): T {
  const copy = { ...object }
  if (value === undefined || value === '') delete copy[key]
  else copy[key] = value as T[K]
  return copy
}

const nextColour = '*'
const colourOptions = [
  { value: nextColour, label: texts.nextColour },
  ...colourNames.map((value) => ({ value, label: texts.colours[value] ?? value })),
]

export function ColourField({
  value,
  onChange,
}: {
  value: string | undefined
  onChange(value: string | undefined): void
}) {
  const isOther = value !== undefined && !colourNames.includes(value)
  return (
    <SelectField
      label={texts.colour}
      name="colour"
      value={value ?? nextColour}
      onChange={(chosen) => onChange(chosen === nextColour ? undefined : chosen)}
      options={isOther ? [...colourOptions, { value, label: value }] : colourOptions}
    />
  )
}

/**
 * Returns the application whose series are offered: that of the endpoint to which the reference currently resolves, or, without such an
 * endpoint, the application that is chosen in the dashboard.
 */
function useApplicationOf(endpoint: string | undefined): string | undefined {
  const dashboard = useDashboard()
  const endpointId = dashboard.chosen('endpoint', endpoint)
  const application = endpointId === undefined ? undefined : dashboard.applicationOf(endpointId)
  return application?.kind === 'known' ? application.name : dashboard.chosen('application', undefined)
}

function SeriesName({
  label,
  endpoint,
  value,
  onChange,
}: {
  label: string
  endpoint: string | undefined
  value: string
  onChange(name: string): void
}) {
  const { options, search, onSearch } = useSeriesChoice(useApplicationOf(endpoint))
  // The user can also enter the name of a series that does not exist yet.
  const typed = search.trim()
  const isNew = typed !== '' && typed.length <= 255 && !options.some((option) => option.value === typed)
  return (
    <SearchSelect
      label={label}
      placeholder={texts.chooseSeries}
      value={value}
      onChange={onChange}
      options={isNew ? [...options, { value: typed, label: withoutMark(typed) }] : options}
      search={search}
      onSearch={onSearch}
      isField
    />
  )
}

interface SeriesFieldsProps {
  series: SeriesReference
  variables: readonly Variable[]
  onChange(series: SeriesReference): void
}

/** The fields of one series. */
export function SeriesFields({ series, variables, onChange }: SeriesFieldsProps) {
  return (
    <>
      <EndpointReference
        label={texts.endpoint}
        variables={variables}
        value={series.endpoint}
        onChange={(endpoint) => onChange(withField(series, 'endpoint', endpoint))}
      />
      <SeriesName
        label={texts.seriesName}
        endpoint={series.endpoint}
        value={series.timeSeries}
        onChange={(timeSeries) => onChange({ ...series, timeSeries })}
      />
      <TextField
        label={texts.valueName}
        name="value"
        value={series.value ?? ''}
        onChange={(value) => onChange(withField(series, 'value', value))}
        lengthMax={lengths.value}
        description={texts.valueNameNote}
      />
      <TextField
        label={texts.label}
        name="label"
        value={series.label ?? ''}
        onChange={(label) => onChange(withField(series, 'label', label))}
        lengthMax={lengths.label}
      />
    </>
  )
}

const seriesMax = 50

export function ChartSeriesFields({
  widget,
  variables,
  onChange,
}: {
  widget: WidgetOf<'chart'>
  variables: readonly Variable[]
  onChange(series: SeriesReference[]): void
}) {
  const { series } = widget
  const [endpoint, setEndpoint] = useState<string | undefined>(series.at(-1)?.endpoint)
  const replace = (at: number, one: SeriesReference) => onChange(series.map((old, index) => (index === at ? one : old)))
  return (
    <fieldset className="inspector-group">
      <legend>{texts.series}</legend>
      {series.map((one, at) => {
        const name = withoutInvisible(cut(labelOf(one), 60).shown)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a series has no other name
          <div key={at} className="inspector-item">
            <details>
              <summary>
                <span className="map-legend-dot" style={{ background: colourOf(one.colour, at) }} aria-hidden="true" />
                <Text value={name} max={60} />
                <small>
                  <Text value={one.endpoint ?? texts.firstVariable} max={30} />
                </small>
              </summary>
              <div className="inspector-fields">
                <SeriesFields series={one} variables={variables} onChange={(changed) => replace(at, changed)} />
                <ColourField value={one.colour} onChange={(colour) => replace(at, withField(one, 'colour', colour))} />
              </div>
            </details>
            <IconButton
              icon="trash"
              label={texts.removeSeries(name)}
              onPress={() => onChange(series.filter((_, index) => index !== at))}
            />
          </div>
        )
      })}
      {series.length < seriesMax && (
        <div className="inspector-add">
          <EndpointReference
            label={texts.addSeriesEndpoint}
            variables={variables}
            value={endpoint}
            onChange={setEndpoint}
          />
          <SeriesName
            label={texts.addSeriesName}
            endpoint={endpoint}
            value=""
            onChange={(timeSeries) =>
              onChange([...series, { ...(endpoint !== undefined && { endpoint }), timeSeries }])
            }
          />
        </div>
      )}
    </fieldset>
  )
}

type Thresholds = NonNullable<WidgetOf<'value'>['thresholds']>
const thresholdsMax = 20

export function ThresholdFields({
  thresholds,
  onChange,
}: {
  thresholds: Thresholds
  onChange(thresholds: Thresholds): void
}) {
  const replace = (at: number, one: Thresholds[number]) =>
    onChange(thresholds.map((old, index) => (index === at ? one : old)))
  return (
    <fieldset className="inspector-group">
      <legend>{texts.thresholds}</legend>
      <p className="field-description">{texts.thresholdsNote}</p>
      {thresholds.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a threshold has no other name
        <div key={at} className="inspector-item inspector-row">
          <NumberField
            label={texts.from}
            value={one.from}
            onChange={(from) => replace(at, { ...one, from: Number.isNaN(from) ? 0 : from })}
            isRequired
          />
          <SelectField
            label={texts.colour}
            value={one.colour}
            onChange={(colour) => replace(at, { ...one, colour })}
            options={colourOptions.slice(1)}
            isRequired
          />
          <IconButton
            icon="trash"
            label={texts.removeThreshold(at + 1)}
            onPress={() => onChange(thresholds.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      {thresholds.length < thresholdsMax && (
        <Button
          size="small"
          icon="plus"
          onPress={() => onChange([...thresholds, { from: (thresholds.at(-1)?.from ?? 0) + 10, colour: 'red' }])}
        >
          {texts.addThreshold}
        </Button>
      )}
    </fieldset>
  )
}
