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

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
