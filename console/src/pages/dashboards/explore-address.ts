/** The address of the page Explore with the same series and period as a widget. */
import { manyOf } from '../../parts/address-state.ts'
import { chosenOf, lengths, ranges } from '../../parts/periods.ts'
import type { DashboardState } from './context.tsx'
import { seriesOfWidget, type Widget } from './definition.ts'
import { isMoving } from './references.ts'
import { located } from './use-points.ts'

/**
 * Returns the address, or undefined if the series do not belong to exactly one application, because Explore shows one application at a
 * time.
 */
export function exploreAddress(dashboard: DashboardState, widget: Widget): string | undefined {
  if (widget.kind !== 'chart' && widget.kind !== 'value') return undefined
  const { found } = located(dashboard, seriesOfWidget(widget))
  const [first] = found
  if (!first || found.some(({ application }) => application !== first.application)) return undefined
  const many = manyOf()
  const period = dashboard.periodOf(widget.time)
  const fitting = ranges.find((range) => lengths[range] >= period.to - period.from) ?? ranges.at(-1)!
  const parameters = new URLSearchParams({
    application: first.application,
    endpoints: many.write([...new Set(found.map(({ endpointId }) => endpointId))]),
    series: many.write([...new Set(found.map(({ reference }) => reference.timeSeries))]),
    ...(isMoving(dashboard.timeOf(widget.time)) ? { range: fitting } : { period: chosenOf(period) }),
  })
  return `/explore?${parameters}`
}
