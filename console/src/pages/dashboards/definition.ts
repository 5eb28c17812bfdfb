/** Types of a dashboard, taken from the API, and functions that create widgets, make their titles and say why a widget is incomplete. */
import type { BodyOf } from '../../api/operation-types.ts'
import { withoutMark } from '../../parts/chart-series.ts'
import type { IconName } from '../../parts/icons.tsx'
import { isTooLong } from '../../parts/text-length.ts'
import { widgetTexts as texts } from './widget-texts.ts'

export type Dashboard = Extract<BodyOf<'dashboards.get'>, { definition: unknown }>
export type Definition = Dashboard['definition']
export type Widget = Definition['widgets'][number]
export type WidgetKind = Widget['kind']
export type WidgetOf<K extends WidgetKind> = Extract<Widget, { kind: K }>
export type Variable = NonNullable<Definition['variables']>[number]
export type VariableKind = Variable['kind']
export type SeriesReference = WidgetOf<'value'>['series']

/** The parts of a dashboard that users edit. `bodyOf` makes the body of a request from them. */
export interface Contents {
  name: string
  description: string
  definition: Definition
}

export const columnsMax = 24
export const rowsMax = 2000
export const heightMax = 200
export const widgetsMax = 200

/** Maximum lengths of texts, which equal the limits of the service. */
export const lengths = {
  ...{ name: 200, description: 2000, title: 200, unit: 30, sort: 255, colourBy: 255, commandType: 255 },
  ...{ confirm: 300, text: 20_000, column: 255, place: 255, label: 100, value: 255, variable: 64 },
}
/** Maximum number of columns of a table. */
const tableColumnsMax = 30

export const kinds = ['chart', 'value', 'table', 'map', 'alerts', 'command', 'text'] as const satisfies WidgetKind[]

export const iconOf: Record<WidgetKind, IconName> = {
  chart: 'chart',
  value: 'gauge',
  table: 'table',
  map: 'map',
  alerts: 'bell',
  command: 'send',
  text: 'type',
}

export const contentsOf = ({ name, description = '', definition }: Dashboard): Contents => ({
  ...{ name, description, definition },
})

export const bodyOf = ({ name, description, definition }: Contents) => ({
  ...{ name: name.trim(), definition },
  ...(description.trim() !== '' && { description }),
})

const sizes: Record<WidgetKind, { width: number; height: number }> = {
  chart: { width: 12, height: 8 },
  value: { width: 6, height: 4 },
  table: { width: 12, height: 8 },
  map: { width: 12, height: 9 },
  alerts: { width: 8, height: 8 },
  command: { width: 6, height: 3 },
  text: { width: 8, height: 4 },
}
export const sizeOf = (kind: WidgetKind) => sizes[kind]

/** Returns an id that no widget has yet: the kind and a number. */
export function freeId(widgets: readonly Widget[], kind: string): string {
  const taken = new Set(widgets.map(({ id }) => id))
  for (let number = 1; ; number++) if (!taken.has(`${kind}-${number}`)) return `${kind}-${number}`
}

type Place = Pick<Widget, 'id' | 'x' | 'y' | 'width' | 'height'>

export function newWidget(kind: WidgetKind, place: Place): Widget {
  if (kind === 'chart') return { kind, ...place, series: [] }
  if (kind === 'value') return { kind, ...place, series: { timeSeries: '' } }
  if (kind === 'table') return { kind, ...place, columns: ['endpointId', 'connection', 'lastActivity'] }
  if (kind === 'command') return { kind, ...place, commandType: '' }
  if (kind === 'text') return { kind, ...place, text: texts.newText }
  return { kind, ...place }
}

export const seriesOfWidget = (widget: Widget): SeriesReference[] =>
  widget.kind === 'chart' ? widget.series : widget.kind === 'value' ? [widget.series] : []

/** Returns the name of a series in legends. */
export const labelOf = ({ label, timeSeries, value = 'value' }: SeriesReference) =>
  label !== undefined && label !== ''
    ? label
    : value === 'value'
      ? withoutMark(timeSeries)
      : `${withoutMark(timeSeries)} ${value}`

/** Returns the heading of a widget: its title, or a heading that is made from its contents. */
export function titleOf(widget: Widget): string {
  if (widget.title !== undefined && widget.title !== '') return widget.title
  if (widget.kind === 'chart' || widget.kind === 'value') {
    const names = [...new Set(seriesOfWidget(widget).map(labelOf))].filter((name) => name !== '')
    return names.length === 0 ? texts.kinds[widget.kind] : names.join(', ')
  }
  if (widget.kind === 'command') return widget.label || widget.commandType || texts.kinds.command
  return texts.kinds[widget.kind]
}

/** Returns why the service would reject the widget in its current state, or undefined if the widget is complete. */
export function incompleteOf(widget: Widget): string | undefined {
  if (widget.kind === 'chart' && widget.series.length === 0) return texts.incomplete.series
  if (seriesOfWidget(widget).some(({ timeSeries }) => timeSeries === '')) return texts.incomplete.series
  if (widget.kind === 'command' && widget.commandType === '') return texts.incomplete.command
  if (widget.kind === 'table' && widget.columns.length === 0) return texts.incomplete.columns
  if (widget.kind === 'table' && widget.columns.length > tableColumnsMax)
    return texts.incomplete.tooManyColumns(tableColumnsMax)
  return limitedTexts(widget).some(([text, max]) => isTooLong(text, max)) ? texts.incomplete.tooLong : undefined
}

/** Returns why the service would reject the columns of a table, or undefined if it accepts them. */
export const columnsProblem = (columns: string[]) =>
  columns.length > tableColumnsMax
    ? texts.incomplete.tooManyColumns(tableColumnsMax)
    : columns.some((column) => isTooLong(column, lengths.column))
      ? texts.incomplete.columnTooLong(lengths.column)
      : undefined

type LimitedText = [text: string | undefined, max: number]

function limitedTexts(widget: Widget): LimitedText[] {
  const own = (['title', 'unit', 'sort', 'colourBy', 'commandType', 'confirm', 'text'] as const).map(
    (name): LimitedText => [(widget as unknown as Record<string, string | undefined>)[name], lengths[name]],
  )
  const label: LimitedText[] =
    widget.kind === 'map'
      ? [[widget.label, lengths.place]]
      : widget.kind === 'command'
        ? [[widget.label, lengths.label]]
        : []
  const columns = widget.kind === 'table' ? widget.columns : []
  return [
    ...own,
    ...label,
    ...columns.map((column): LimitedText => [column, lengths.column]),
    ...seriesOfWidget(widget).flatMap(({ label, value }): LimitedText[] => [
      [label, lengths.label],
      [value, lengths.value],
    ]),
  ]
}
