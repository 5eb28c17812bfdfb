/** A measured figure with its limit. */
export interface Figure {
  name: string
  value: number
  unit: string
  limit?: { most: number } | { least: number }
}

export const holds = ({ value, limit }: Figure) =>
  limit === undefined || ('most' in limit ? value <= limit.most : value >= limit.least)

const limitText = ({ limit, unit }: Figure) =>
  limit === undefined ? '' : 'most' in limit ? `at most ${limit.most} ${unit}` : `at least ${limit.least} ${unit}`

const rounded = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2))

export const row = (figure: Figure) =>
  `| ${figure.name} | ${rounded(figure.value)} ${figure.unit} | ${limitText(figure)} | ${figure.limit ? (holds(figure) ? 'yes' : '**no**') : ''} |`

export const tableOf = (figures: Figure[]) =>
  ['| What | Measured | To reach | Reached |', '|---|---|---|---|', ...figures.map(row), ''].join('\n')

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
