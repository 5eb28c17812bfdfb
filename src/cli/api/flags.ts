/** Converts the arguments of a command to the arguments of an operation. The description of the operation defines how. */
import type { ParseArgsConfig } from 'node:util'
import type { DescribedArgument, DescribedField, Description } from '../../../sdk/src/descriptions.ts'
import { dashed } from './dashed.ts'
import { usageError } from './errors.ts'
import { parseExactJson } from './exact-json.ts'

export const formats = ['table', 'wide', 'json', 'yaml', 'csv', 'id'] as const
export type Format = (typeof formats)[number]

/** Flags of every operation. */
export interface CommonFlags {
  output: Format
  columns: string[] | undefined
  file: string | undefined
  save: string | undefined
  force: boolean
  dryRun: boolean
  context: string | undefined
  url: string | undefined
  ifMatch: string | undefined
  limit: number | undefined
  pageSize: number | undefined
}

export interface ParsedCommand {
  /** Values of path, query and header parameters by their names in the API. */
  args: Record<string, unknown>
  /** Fields of the body that were given as flags. */
  fields: Record<string, unknown>
  flags: CommonFlags
}

// An import of node:util would also load the modules that its other exports need, which takes 5 ms of each command.
const { parseArgs } = process.getBuiltinModule('node:util')

type FlagOptions = NonNullable<ParseArgsConfig['options']>

const commonOptions = {
  output: { type: 'string', short: 'o' },
  columns: { type: 'string' },
  file: { type: 'string', short: 'f' },
  save: { type: 'string' },
  force: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  context: { type: 'string' },
  url: { type: 'string' },
  'if-match': { type: 'string' },
  limit: { type: 'string' },
  'page-size': { type: 'string' },
} satisfies FlagOptions

/**
 * Parameters that page a list. The command line pages by itself: `--limit` is the number of items, `--page-size` the number of items in a
 * request.
 */
const pagingNames = new Set(['offset', 'limit', 'page', 'size', 'cursor'])

/** A flag of an operation. Its value becomes an argument of the operation (`args`) or a field of the body (`fields`). */
export interface OperationFlag {
  flag: string
  target: 'args' | 'fields'
  described: DescribedArgument | DescribedField
}

/** Returns the flags of an operation. If a name is already taken, the flag gets a prefix: `--body-name`, `--param-url`. */
export function flagsOf({ arguments: described, body, paged }: Description): OperationFlag[] {
  const taken = new Set<string>(Object.keys(commonOptions))
  const flags: OperationFlag[] = []
  const add = (item: DescribedArgument | DescribedField, target: 'args' | 'fields', prefix: string) => {
    const plain = dashed(item.name)
    const flag = taken.has(plain) ? `${prefix}-${plain}` : plain
    taken.add(flag)
    flags.push({ flag, target, described: item })
  }
  for (const item of described)
    if (item.in !== 'path' && !(paged && pagingNames.has(item.name))) add(item, 'args', 'param')
  for (const item of body?.fields ?? []) add(item, 'fields', 'body')
  return flags
}

export function parseCommand(description: Description, argv: string[]): ParsedCommand {
  const flags = flagsOf(description)
  const options: FlagOptions = { ...commonOptions }
  for (const { flag, described } of flags)
    options[flag] = described.kind === 'list' ? { type: 'string', multiple: true } : { type: 'string' }
  const { values, positionals } = parseFlags(withBooleanValues(argv, flags), options)
  const parsed: ParsedCommand = { args: pathArguments(description, positionals), fields: {}, flags: readCommon(values) }
  for (const { flag, target, described } of flags) {
    const input = values[flag] as string | string[] | undefined
    if (input !== undefined)
      parsed[target][described.name] = readValue(flag, described, input, exampleOf(description, described))
  }
  const missing = flags.filter(
    ({ target, described }) => target === 'args' && described.required && parsed.args[described.name] === undefined,
  )
  if (missing.length > 0) throw usageError(`--${missing[0]!.flag} is required: ${missing[0]!.described.description}`)
  return parsed
}

function parseFlags(args: string[], options: FlagOptions) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec((error as Error).message) ?? []
    if (unknown === undefined) throw error
    throw usageError(
      `there is no option ${unknown}; --help lists all, a value that begins with - needs =, such as --name=-x, and an argument that begins with - follows --`,
    )
  }
}

/** Rewrites boolean flags: `--enabled` becomes `--enabled=true`, `--no-enabled` becomes `--enabled=false`. */
function withBooleanValues(argv: string[], flags: OperationFlag[]): string[] {
  const booleans = new Set(flags.filter(({ described }) => described.kind === 'boolean').map(({ flag }) => `--${flag}`))
  const end = argv.indexOf('--')
  return argv.map((word, index) => {
    if (end >= 0 && index > end) return word
    if (booleans.has(word) && !['true', 'false'].includes(argv[index + 1] ?? '')) return `${word}=true`
    if (word.startsWith('--no-') && booleans.has(`--${word.slice(5)}`)) return `--${word.slice(5)}=false`
    return word
  })
}

function pathArguments({ arguments: described, name }: Description, positionals: string[]): Record<string, unknown> {
  const path = described.filter((item) => item.in === 'path')
  const missing = path[positionals.length]
  if (missing) throw usageError(`<${dashed(missing.name)}> is missing: ${missing.description}`)
  if (positionals.length > path.length)
    throw usageError(`${name.replaceAll('.', ' ')} does not take the argument ${positionals[path.length]}`)
  return Object.fromEntries(path.map((item, index) => [item.name, positionals[index]]))
}

function readCommon(values: Record<string, unknown>): CommonFlags {
  const text = (name: string) => values[name] as string | undefined
  const output = text('output') ?? 'table'
  if (!formats.includes(output as Format))
    throw usageError(`--output: expected one of ${formats.join(', ')}, not ${output}`)
  return {
    output: output as Format,
    columns: text('columns')?.split(','),
    file: text('file'),
    save: text('save'),
    force: values.force === true,
    dryRun: values['dry-run'] === true,
    context: text('context'),
    url: text('url'),
    ifMatch: text('if-match'),
    limit: readCount('limit', text('limit')),
    pageSize: readCount('page-size', text('page-size')),
  }
}

function readCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError(`--${flag}: expected a number from 1, not ${text}`)
  return Number(text)
}

/** Returns the example of a parameter, or the field in the example of the body. */
function exampleOf({ body }: Description, described: DescribedArgument | DescribedField): unknown {
  if ('in' in described) return described.example
  const { example } = body ?? {}
  return typeof example === 'object' && example !== null
    ? (example as Record<string, unknown>)[described.name]
    : undefined
}

function readValue(
  flag: string,
  { kind, choices }: DescribedField,
  input: string | string[],
  example: unknown,
): unknown {
  if (Array.isArray(input)) return input.flatMap((text) => text.split(','))
  if (choices && !choices.map(String).includes(input))
    throw usageError(`--${flag}: expected one of ${choices.join(', ')}, not ${input}`)
  if (kind === 'string' || kind === 'list') return input
  if (kind === 'boolean') {
    if (input !== 'true' && input !== 'false') throw usageError(`--${flag}: expected true or false, not ${input}`)
    return input === 'true'
  }
  if (kind === 'json') return readJson(flag, input, example)
  const number = Number(input)
  if (input.trim() === '' || !Number.isFinite(number) || (kind === 'integer' && !Number.isSafeInteger(number)))
    throw usageError(`--${flag}: expected ${kind === 'integer' ? 'an integer' : 'a number'}, not ${input}`)
  return number
}

function readJson(flag: string, text: string, example: unknown): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw usageError(`--${flag}: ${(error as Error).message}`)
    const such = example === undefined ? `'["a"]' or '{"a": 1}'` : `'${JSON.stringify(example)}'`
    throw usageError(`--${flag}: expected JSON, such as ${such}, not ${text}`)
  }
}
