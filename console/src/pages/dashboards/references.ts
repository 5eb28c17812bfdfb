/**
 * Resolves references of widgets: a fixed value, the value of a variable (`$name`), or, without a reference, the first variable of the
 * kind.
 */
import { durationOf } from '../../parts/durations.ts'
import type { Period } from '../../parts/periods.ts'
import { chosenPeriod } from '../../parts/periods.ts'
import type { Definition, Variable, VariableKind, Widget } from './definition.ts'
import { seriesOfWidget } from './definition.ts'

/** Values of the variables by name. */
export type Values = Record<string, string>

/** The time that a dashboard shows when its time variable has no valid value, or when it has no time variable. */
export const timeDefault = 'PT6H'
/** Name under which `Values` holds the time of a dashboard that declares no time variable. */
export const timeName = ''

/** Returns the value of a reference, or undefined if its variable is missing or has no value. */
export function resolved(
  variables: readonly Variable[],
  values: Values,
  kind: VariableKind,
  reference: string | undefined,
): string | undefined {
  const name =
    reference === undefined || reference === ''
      ? variables.find((variable) => variable.kind === kind)?.name
      : reference.startsWith('$')
        ? reference.slice(1)
        : undefined
  const value = name === undefined ? reference : values[name]
  return value === undefined || value === '' ? undefined : value
}

/** Returns the name of the variable that decides the time of a widget. */
export const timeVariableOf = (variables: readonly Variable[], reference: string | undefined): string =>
  reference?.startsWith('$') ? reference.slice(1) : (variables.find(({ kind }) => kind === 'time')?.name ?? timeName)

/** Parses a chosen time: a duration until now, or `from/to`. An invalid time counts as `timeDefault`. */
export function periodOfText(text: string, now: number): Period {
  const length = durationOf(text)
  if (length !== undefined) return { from: now - length, to: now }
  return chosenPeriod(text) ?? { from: now - durationOf(timeDefault)!, to: now }
}

/** Returns whether a chosen time is a duration until now, which moves with the clock. */
export const isMoving = (text: string) => chosenPeriod(text) === undefined

/** Returns the endpoints that the widgets show. References without a chosen endpoint are left out. */
export function endpointsOf({ variables = [], widgets }: Definition, values: Values): string[] {
  const references = widgets.flatMap((widget) => [
    ...seriesOfWidget(widget).map(({ endpoint }) => resolved(variables, values, 'endpoint', endpoint)),
    ...(widget.kind === 'command' ? [resolved(variables, values, 'endpoint', widget.endpoint)] : []),
  ])
  return [...new Set(references.filter((id) => id !== undefined))].sort()
}

/** Renames a variable where widgets use it; an empty new name removes the reference. */
export function withRenamedVariable(widget: Widget, from: string, to: string): Widget {
  const renamed = <T extends object>(holder: T): T => {
    const copy = { ...holder } as Record<string, unknown>
    for (const key of ['application', 'endpoint', 'filter', 'time'])
      if (copy[key] === `$${from}`) {
        if (to === '') delete copy[key]
        else copy[key] = `$${to}`
      }
    return copy as T
  }
  const renamedWidget = renamed(widget)
  if (renamedWidget.kind === 'chart') return { ...renamedWidget, series: renamedWidget.series.map(renamed) }
  return renamedWidget.kind === 'value' ? { ...renamedWidget, series: renamed(renamedWidget.series) } : renamedWidget
}
