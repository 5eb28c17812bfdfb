/** Reads points for exports. Each part contains some endpoints, so that an export can continue after a crash. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { SeriesExport, TimeSeries } from '../contract.ts'
import { spanOf } from '../spans.ts'
import type { DataQuery } from './data.ts'
import { csvOf, valueNamesOf } from './data-csv.ts'
import { linesOf } from './data-lines.ts'
import { reductionOf } from './reduction.ts'
import type { SelectedSeries } from './selected-series.ts'
import type { SelectedData, VisibleSeries } from './visible-series.ts'

const endpointsPerPart = 200

export function createSeriesExport(
  { now }: Pick<Kit, 'now'>,
  { data, visible }: { data: DataQuery; visible: VisibleSeries },
): Pick<TimeSeries, 'checkExport' | 'exportPart'> {
  const filterOf = ({ applicationName, endpointIds, seriesNames }: SeriesExport) => ({
    applicationName,
    endpointIds,
    seriesNames,
  })
  return {
    async checkExport(ctx, request) {
      const { applicationName, endpointIds, timeSeriesNames, aggregate, interval, timeZone } = request
      const reduction = {
        ...(aggregate !== undefined && { aggregate }),
        ...(interval !== undefined && { interval }),
        ...(timeZone !== undefined && { timeZone }),
      }
      reductionOf(reduction)
      const selection: SeriesExport = {
        applicationName,
        ...spanOf(request, now()),
        ...(endpointIds && endpointIds.length > 0 && { endpointIds }),
        ...(timeSeriesNames && timeSeriesNames.length > 0 && { seriesNames: timeSeriesNames }),
        ...(aggregate !== undefined && interval !== undefined && { reduction: { ...reduction, aggregate, interval } }),
      }
      await visible.selectAfter(ctx, filterOf(selection), { after: '', limit: 1 })
      return selection
    },

    async exportPart(ctx, selection, { format, position }) {
      const { after = '' } = position ?? {}
      const found = await visible.selectAfter(ctx, filterOf(selection), { after, limit: endpointsPerPart })
      const names = position?.names ?? valueNamesOf(found.selected.series)
      const selected: SelectedData = { ...found.selected, series: onlyNames(found.selected.series, names) }
      const parts = data.parts(ctx, selected, {
        ...filterOf(selection),
        span: { from: selection.from, to: selection.to },
        descending: false,
        reduction: selection.reduction && reductionOf(selection.reduction),
      })
      let rows = 0
      const counted = (count: number) => {
        rows += count
      }
      const content =
        format === 'csv'
          ? csvOf(parts, selected.series, false, { names, withHeader: position === undefined, counted })
          : linesOf(parts, counted)
      return { content, rows: () => rows, next: found.next === undefined ? undefined : { after: found.next, names } }
    },
  }
}

/** Removes values that were created after the first part, because they have no column. */
const onlyNames = (series: SelectedSeries[], names: string[]): SelectedSeries[] =>
  series
    .map((one) => ({ ...one, values: one.values.filter(({ name }) => names.includes(name)) }))
    .filter(({ values }) => values.length > 0)
