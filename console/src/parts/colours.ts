/** Named colours of dashboards. They are variables of the theme, so that they suit the light and the dark theme. */

const byName: Record<string, string> = {
  teal: '--series-1',
  orange: '--series-2',
  blue: '--series-3',
  purple: '--series-4',
  yellow: '--series-5',
  pink: '--series-6',
  green: '--good',
  red: '--bad',
  amber: '--warn',
  grey: '--soft',
}

export const colourNames = Object.keys(byName)
const inOrder = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6']
/** Number of different default colours of series. Further series get the same colours again. */
export const seriesColours = inOrder.length
const hex = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/

/** Returns a CSS colour. For an unknown name, it returns the default colour of the series at `position`. */
export function colourOf(name: string | undefined, position = 0): string {
  if (name !== undefined && hex.test(name)) return name
  const known = name !== undefined && Object.hasOwn(byName, name) ? byName[name] : undefined
  return `var(${known ?? inOrder[position % inOrder.length]})`
}

/** Returns the value of a colour for a canvas, which does not support CSS variables. */
export function resolvedColour(style: CSSStyleDeclaration, colour: string): string {
  const variable = /^var\((--[\w-]+)\)$/.exec(colour)?.[1]
  return variable === undefined ? colour : style.getPropertyValue(variable).trim()
}

export interface Threshold {
  from: number
  colour: string
}

/** Returns the colour of a value: the colour of the highest threshold that the value reaches. */
export function thresholdColour(value: unknown, thresholds: readonly Threshold[] = []): string | undefined {
  if (typeof value !== 'number') return undefined
  const reached = thresholds.filter(({ from }) => value >= from).toSorted((a, b) => b.from - a.from)[0]
  return reached && colourOf(reached.colour)
}
