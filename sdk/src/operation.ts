/** Reads the generated table, and builds the requests of operations from their arguments. */
import { WaypostError } from './errors.ts'
import type { Arguments, Operation, Paging } from './types.ts'

const styles = { o: 'offset', p: 'page', c: 'cursor', n: 'none' } as const
const bodyTypes: Record<string, string> = {
  o: 'application/octet-stream',
  f: 'application/x-www-form-urlencoded',
  p: 'application/json-patch+json',
}

/** Reads a line of the table: `list GET /api/v1/… flags`. */
export function readOperation(noun: string, line: string): Operation {
  const [verb = '', method = '', path = '', ...flags] = line.split(' ')
  const operation: Operation = {
    name: `${noun}.${verb}`,
    method,
    path,
    reads: method === 'GET',
    open: false,
    bodyType: 'application/json',
    answer: 'json',
    headers: [],
    paging: undefined,
  }
  for (const flag of flags) {
    const rest = flag.slice(1)
    if (flag[0] === 'r') operation.reads = true
    else if (flag[0] === 'n') operation.open = true
    else if (flag[0] === 'b') operation.bodyType = bodyTypes[rest]!
    else if (flag[0] === 'a') operation.answer = rest === 'e' ? 'events' : 'bytes'
    else if (flag[0] === 'h') operation.headers.push(rest)
    else if (flag[0] === 'p') operation.paging = readPaging(rest)
  }
  return operation
}

function readPaging(text: string): Paging {
  const [style, where, position = '', size = '', first, defaultSize, items = '', total = '', next = '', max = 0] =
    text.split(',')
  return {
    style: styles[style as keyof typeof styles],
    in: where === 'b' ? 'body' : 'query',
    position,
    size,
    first: Number(first),
    defaultSize: Number(defaultSize),
    items,
    total,
    next,
    maxSize: Number(max),
  }
}

/** Returns an operation by its name, or undefined if the table does not contain it. */
export function operationOf(table: Record<string, string>, name: string): Operation | undefined {
  const [noun = ''] = name.split('.', 1)
  if (!Object.hasOwn(table, noun)) return undefined
  const begin = `${name.slice(noun.length + 1)} `
  const line = table[noun]!.split('\n').find((text) => text.startsWith(begin))
  return line === undefined ? undefined : readOperation(noun, line)
}

/** The literal texts of a path, and the parameters between them. */
interface Template {
  texts: string[]
  parameters: { key: string; hasSegments: boolean }[]
  /** Arguments that are not part of the query. */
  used: Set<string>
}

/** Templates of the operations that were called. Parsing the path for each request would take several percent of the time of a request. */
const templates = new WeakMap<Operation, Template>()

function templateOf(operation: Operation): Template {
  let template = templates.get(operation)
  if (template === undefined) {
    const parts = operation.path.split(/\{(\+?\w+)\}/)
    const texts = parts.filter((_, index) => index % 2 === 0)
    const names = parts.filter((_, index) => index % 2 === 1)
    const parameters = names.map((name) => ({ key: name.replace('+', ''), hasSegments: name.startsWith('+') }))
    const used = new Set(['body', ...operation.headers, ...parameters.map(({ key }) => key)])
    template = { texts, parameters, used }
    templates.set(operation, template)
  }
  return template
}

/** Returns the path and query of a request. */
export function pathOf(operation: Operation, args: Arguments): string {
  const { texts, parameters, used } = templateOf(operation)
  let path = texts[0]!
  for (const [index, { key, hasSegments }] of parameters.entries()) {
    const value = args[key] ?? ''
    if (typeof value === 'object' && !(value instanceof Date)) throw invalidArgument(operation, key, 'must be a text')
    const text = textOf(value)
    path += hasSegments
      ? text
          .split('/')
          .map((segment) => segmentOf(operation, key, segment))
          .join('/')
      : segmentOf(operation, key, text)
    path += texts[index + 1]
  }
  let query = ''
  for (const key of Object.keys(args)) {
    if (used.has(key)) continue
    for (const value of [args[key]].flat())
      if (value !== undefined && value !== null)
        query += `${query === '' ? '?' : '&'}${encodeURIComponent(key)}=${encoded(operation, key, textOf(value))}`
  }
  return path + query
}

function segmentOf(operation: Operation, key: string, text: string): string {
  // `fetch` would change a path with such segments, and the request would go to another operation.
  if (text === '' || text === '.' || text === '..')
    throw invalidArgument(operation, key, `must not be ${text === '' ? 'empty' : text}`)
  return encoded(operation, key, text)
}

function encoded(operation: Operation, key: string, text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw invalidArgument(operation, key, 'contains half of a surrogate pair')
  }
}

export const invalidArgument = ({ name }: Operation, key: string, problem: string) =>
  new WaypostError(`${name}: ${key} ${problem}`, { code: 'invalid_argument', field: key, operation: name })

const textOf = (value: unknown) => {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
