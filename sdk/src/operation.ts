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

const parameter = /\{(\+?)(\w+)\}/g

/** Returns the path and query of a request. */
export function pathOf({ name, path, headers }: Operation, args: Arguments): string {
  const used = new Set<string>(['body', ...headers])
  const filled = path.replace(parameter, (_, many: string, key: string) => {
    used.add(key)
    const value = args[key]
    const text = value === undefined || value === null ? '' : String(value)
    const parts = many ? text.split('/') : [text]
    // `fetch` would change a path with such segments, and the request would go to another operation.
    if (parts.some((part) => part === '' || part === '.' || part === '..'))
      throw new WaypostError(`${name}: ${key} must not be ${text === '' ? 'empty' : text}`, {
        code: 'invalid_argument',
        field: key,
        operation: name,
      })
    return parts.map(encodeURIComponent).join('/')
  })
  let query = ''
  for (const key of Object.keys(args)) {
    if (used.has(key)) continue
    for (const value of [args[key]].flat())
      if (value !== undefined && value !== null)
        query += `${query === '' ? '?' : '&'}${encodeURIComponent(key)}=${encodeURIComponent(textOf(value))}`
  }
  return filled + query
}

const textOf = (value: unknown) => {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
