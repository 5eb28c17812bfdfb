/** Prints the responses of operations as tables, JSON, YAML, CSV or ids. Lists are printed as they arrive. */
import { CommandError, usageError } from './errors.ts'
import type { Format } from './flags.ts'
import { cutText, padText, textWidth } from './text-width.ts'
import { visible, visibleAtTerminal } from './visible.ts'

export interface Printing {
  output: Format
  columns: string[] | undefined
  /** Columns that the API reference defines for the response; empty if it defines none. */
  known: string[]
  /** Returns the ids of the objects in a value, for `-o id`. */
  idsOf(value: unknown): string[]
}

type Item = Record<string, unknown>

/** Maximum number of columns with `-o table`. A table with `-o wide` has all columns. */
const tableColumns = 6
const cellLength = 48
/** Number of rows that determine the widths of columns. Later rows may be wider. */
const measuredRows = 100

export async function write(text: string) {
  if (process.stdout.write(text)) return
  await new Promise<void>((resolve) => void process.stdout.once('drain', resolve))
}

const chunkLength = 64 * 1024

/**
 * Joins the texts of a list into few writes. With one write for each line, a third of the time to print a million lines is spent on
 * writing.
 */
interface Joined {
  add(text: string): Promise<void> | undefined
  flush(): Promise<void>
}

function joinTexts(): Joined {
  let text = ''
  let waiting: NodeJS.Immediate | undefined
  const flush = async () => {
    clearImmediate(waiting)
    waiting = undefined
    const joined = text
    text = ''
    if (joined !== '') await write(joined)
  }
  return {
    add(more) {
      text += more
      if (text.length >= chunkLength) return flush()
      // The lines of a page are printed before the next page arrives.
      waiting ??= setImmediate(() => void flush())
      return undefined
    },
    flush,
  }
}

/** Throws for columns that the API reference does not define. If it defines none for a response, all columns are accepted. */
export function checkColumns({ columns, known }: Printing) {
  if (columns === undefined || known.length === 0) return
  const unknown = columns.find((column) => !known.includes(column.split('.', 1)[0]!) && !known.includes(column))
  if (unknown !== undefined)
    throw usageError(`--columns: there is no column ${JSON.stringify(unknown)}, only ${known.join(', ')}`)
}

export async function printList(items: AsyncIterable<unknown>, printing: Printing): Promise<void> {
  const { output } = printing
  if (output === 'json') return printJsonList(items, printing)
  if (output === 'yaml') return printYamlList(items, printing)
  if (output === 'csv') return printCsv(items, printing)
  if (output === 'id') return printTexts(items, printing, (item) => idLines(item, printing))
  return printTable(items, printing)
}

/** Throws for a value that should be an object, according to the API reference, but is not. Then the server is not a platform. */
export function requireObject(value: unknown, { known }: Pick<Printing, 'known'>) {
  if (known.length > 0 && (typeof value !== 'object' || value === null || Array.isArray(value)))
    throw new CommandError(
      `the answer contains ${value === undefined ? 'nothing' : cutText(JSON.stringify(value), cellLength)} instead of an object: is this the address of the platform?`,
    )
}

/** Prints the text of each item. If the list fails, the items before the failure are printed. */
async function printTexts(
  items: AsyncIterable<unknown>,
  printing: Pick<Printing, 'known'>,
  textOf: (item: unknown) => string,
) {
  const joined = joinTexts()
  try {
    for await (const item of items) {
      requireObject(item, printing)
      const full = joined.add(textOf(item))
      if (full !== undefined) await full
    }
  } finally {
    await joined.flush()
  }
}

export async function printObject(value: unknown, printing: Printing): Promise<void> {
  const { output } = printing
  if (output === 'json') return write(visibleAtTerminal(`${JSON.stringify(value, null, 2)}\n`))
  if (output === 'yaml') return write(visibleAtTerminal(await yamlOf(value)))
  if (output === 'id') return write(idLines(value, printing))
  if (output === 'csv') return printCsv(Array.isArray(value) ? values(value) : single(value), printing)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return Array.isArray(value) ? printTable(values(value), printing) : write(`${cellOf(value)}\n`)
  const rows = (printing.columns ?? Object.keys(value)).map((key) => [key, cellOf(valueAt(value, key))] as const)
  const width = Math.max(0, ...rows.map(([key]) => textWidth(visible(key))))
  for (const [key, text] of rows) await write(`${padText(visible(key), width)}  ${text}\n`)
}

async function* single(value: unknown) {
  yield value
}
async function* values(list: unknown[]) {
  yield* list
}

async function printJsonList(items: AsyncIterable<unknown>, printing: Printing) {
  let separator = '['
  await printTexts(items, printing, (item) => {
    const text = `${separator}\n  ${visibleAtTerminal(JSON.stringify(item))}`
    separator = ','
    return text
  })
  await write(separator === '[' ? '[]\n' : '\n]\n')
}

async function printYamlList(items: AsyncIterable<unknown>, printing: Printing) {
  const { stringify } = await import('yaml')
  let isEmpty = true
  await printTexts(items, printing, (item) => {
    isEmpty = false
    return visibleAtTerminal(stringify([item], yamlOptions))
  })
  if (isEmpty) await write('[]\n')
}

/** Programs that read YAML 1.1 take `yes` for a boolean and `12:30` for a number, so such texts get quotes. */
const yamlOptions = { lineWidth: 0, compat: 'yaml-1.1' } as const

async function yamlOf(value: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(value, yamlOptions)
}

async function printCsv(items: AsyncIterable<unknown>, { columns, known }: Printing) {
  let header = columns ?? (known.length > 0 ? known : undefined)
  if (header) await write(csvLine(header))
  await printTexts(items, { known }, (item) => {
    const begin = header ? '' : csvLine(keysOf(item))
    header ??= keysOf(item)
    return begin + csvLine(header.map((column) => rawText(valueAt(item, column))))
  })
}

const csvLine = (cells: string[]) => visibleAtTerminal(`${cells.map(csvCell).join(',')}\n`)
const csvCell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

async function printTable(items: AsyncIterable<unknown>, { output, columns, known }: Printing) {
  const isWide = output === 'wide'
  let [names, widths]: [string[], number[]] = [[], []]
  let waiting: unknown[] = []
  const cellsOf = (item: unknown) => names.map((name) => cut(cellOf(valueAt(item, name)), isWide))
  const line = (cells: string[]) =>
    `${cells
      .map((cell, index) => padText(cell, widths[index]!))
      .join('  ')
      .trimEnd()}\n`
  /** Returns the text of the first rows, which determine the columns and their widths. */
  const begin = () => {
    if (waiting.length === 0) return ''
    names = columns ?? columnsOf(waiting, known, isWide)
    const titles = names.map((name) => visible(name).toUpperCase())
    const all = waiting.map(cellsOf)
    const allWidths = titles.map((title, index) =>
      Math.max(textWidth(title), ...all.map((cells) => textWidth(cells[index]!))),
    )
    const shown = isWide || columns ? names.length : countThatFits(allWidths, process.stdout.columns || undefined)
    names = names.slice(0, shown)
    widths = allWidths.slice(0, shown)
    waiting = []
    const [header, rows] = [titles.slice(0, shown), all.map((cells) => cells.slice(0, shown))]
    return bold(line(header)) + rows.map(line).join('')
  }
  try {
    await printTexts(items, { known }, (item) => {
      if (widths.length > 0) return line(cellsOf(item))
      return waiting.push(item) === measuredRows ? begin() : ''
    })
  } finally {
    await write(begin())
  }
}

/** Returns how many columns fit into a line of the terminal, at least one. A file, a pipe or a terminal of unknown width has no limit. */
function countThatFits(widths: number[], terminal: number | undefined): number {
  let [count, used] = [0, 0]
  for (const width of widths) {
    used += width + (count === 0 ? 0 : 2)
    if (count > 0 && terminal !== undefined && used > terminal) break
    count++
  }
  return count
}

/** Returns the columns of a table: all columns for a wide table, otherwise the first columns that have values other than objects. */
function columnsOf(items: unknown[], known: string[], isWide: boolean): string[] {
  const all = known.length > 0 ? known : keysOf(items[0])
  const isPlain = (name: string) => {
    const values = items.map((item) => valueAt(item, name)).filter((value) => value !== undefined && value !== null)
    return values.length > 0 && values.every((value) => typeof value !== 'object')
  }
  const plain = all.filter(isPlain)
  return isWide || plain.length === 0 ? all : plain.slice(0, tableColumns)
}

const keysOf = (item: unknown) => (typeof item === 'object' && item !== null ? Object.keys(item) : ['value'])
const cut = (text: string, isWide: boolean) => (isWide ? text : cutText(text, cellLength))
const bold = (text: string) => (process.stdout.isTTY && process.stdout.hasColors() ? `\u001b[1m${text}\u001b[0m` : text)

const cellOf = (value: unknown) => visible(rawText(value))

function rawText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns the value of a column. `metadata.city` is a field inside a field. */
function valueAt(item: unknown, column: string): unknown {
  if (typeof item !== 'object' || item === null) return column === 'value' ? item : undefined
  if (Object.hasOwn(item, column)) return (item as Item)[column]
  if (!column.includes('.')) return undefined
  let value: unknown = item
  for (const key of column.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Item)[key]
  }
  return value
}

const idLines = (value: unknown, { idsOf }: Printing) =>
  idsOf(value)
    .map((id) => `${id}\n`)
    .join('')
