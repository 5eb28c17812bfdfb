/** A measured figure with its limit. */
export interface Figure {
  name: string
  value: number
  unit: string
  limit?: { max: number } | { min: number }
}

export const isWithinLimit = ({ value, limit }: Figure) =>
  limit === undefined || ('max' in limit ? value <= limit.max : value >= limit.min)

const limitText = ({ limit, unit }: Figure) =>
  limit === undefined ? '' : 'max' in limit ? `at most ${limit.max} ${unit}` : `at least ${limit.min} ${unit}`

const rounded = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2))

export const rowOf = (figure: Figure) =>
  `| ${figure.name} | ${rounded(figure.value)} ${figure.unit} | ${limitText(figure)} | ${figure.limit ? (isWithinLimit(figure) ? 'yes' : '**no**') : ''} |`

export const tableOf = (figures: Figure[]) =>
  ['| Figure | Measured | Limit | Within limit |', '|---|---|---|---|', ...figures.map(rowOf), ''].join('\n')

export interface Section {
  title: string
  figures: Figure[]
}

/**
 * Returns one row for each figure that has a limit. Figures that miss their limit come first. The text is empty if no figure has a limit.
 */
export function summaryOf(sections: Section[]): string {
  const goals = sections.flatMap(({ title, figures }) =>
    figures.filter(({ limit }) => limit !== undefined).map((figure) => ({ title, figure })),
  )
  if (goals.length === 0) return ''
  const missed = goals.filter(({ figure }) => !isWithinLimit(figure))
  const rows = [...missed, ...goals.filter(({ figure }) => isWithinLimit(figure))].map(
    ({ title, figure }) =>
      `| ${title}: ${figure.name} | ${limitText(figure)} | ${rounded(figure.value)} ${figure.unit} | ${isWithinLimit(figure) ? 'yes' : '**no**'} |`,
  )
  const head = `${goals.length - missed.length} of ${goals.length} goals are reached.`
  return [head, '', '| Goal | Limit | Figure | Reached |', '|---|---|---|---|', ...rows, ''].join('\n')
}

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
