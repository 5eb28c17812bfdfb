/**
 * Compiles JSON schemas of users with Ajv: draft-07, 2019-09 and 2020-12. With a crafted schema, compiling and validating can take
 * arbitrarily long. Therefore this code runs only in the thread of worker-thread.ts, which has a time limit.
 */
import { domainToASCII } from 'node:url'
import { _, Ajv, type CodeKeywordDefinition, type ErrorObject, type Options, str, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formatsPlugin, { type FormatName } from 'ajv-formats'
import { RE2JS } from 're2js'
import { isMultipleOf } from './multiple-of.ts'

/** A violation of a schema. */
export interface Violation {
  /** JSON pointer to the invalid value; empty for the whole document. */
  path: string
  message: string
}

/** At most `violationsMax` violations, and the number of further violations. */
export interface Violations {
  violations: Violation[]
  more: number
}

export const violationsMax = 100
const messageLengthMax = 300

/** The error for a schema that cannot be used. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  readonly problems: Violations

  constructor(problems: Violations) {
    super(problems.violations[0]?.message)
    this.problems = problems
  }
}

const unusable = (message: string, path = '') =>
  new SchemaError({ violations: [{ path, message: message.slice(0, messageLengthMax) }], more: 0 })

/**
 * Creates a regular expression that runs in linear time. RE2 rejects lookaround and backreferences, because they cannot run in linear time.
 */
function linearRegExp(pattern: string) {
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return { test: (text: string) => compiled.matcher(text).find() }
  } catch (error) {
    throw unusable(`the pattern ${pattern.slice(0, 100)} cannot be run in linear time: ${(error as Error).message}`)
  }
}
linearRegExp.code = ''

/**
 * Maximum number of violations that one validation may find. Violations of an alternative count even if another alternative is valid.
 * 200,000 violations in an array took 27 MB. Without a maximum, the list could exceed the memory limit of the thread, which ends the whole
 * process.
 */
const foundMax = 200_000
let foundCount = 0

function countViolation() {
  if (++foundCount > foundMax) throw unusable(`the schema finds more than ${foundMax} violations in this value`)
}
Object.assign(globalThis, { countViolation })

const options: Options = {
  strict: false,
  logger: false,
  allErrors: true,
  // Every object inherits `constructor`. The user's data has such a key only if it is an own key.
  ownProperties: true,
  // The generated code is changed so that it counts each violation when it is added to the list.
  code: { regExp: linearRegExp, process: (code) => code.replaceAll('}errors++;', '}errors++;countViolation();') },
}

const dialects = {
  'json-schema.org/draft-07/schema': Ajv,
  'json-schema.org/draft/2019-09/schema': Ajv2019,
  'json-schema.org/draft/2020-12/schema': Ajv2020,
}

/** The formats of draft-07. Other formats are not checked (document 5, 1.8). */
const formats: FormatName[] = [
  'date-time',
  'date',
  'time',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uri-template',
  'json-pointer',
  'relative-json-pointer',
  'regex',
]

/** Replaces each character beyond ASCII by an ASCII letter, because an IRI may contain such characters and a URI may not. */
const asciiOf = (text: string) => text.replaceAll(/[\u00a0-\u{10ffff}]/gu, 'a')

type Dialect = (typeof dialects)[keyof typeof dialects]

/** Instances that check schemas against the schema of their dialect. They keep no schema of a user. */
const checkers = new Map<Dialect, Ajv>()

/** Creates the instance on first use. It is shared, because compiling the schema of a dialect takes 25 ms. */
function checkerOf(dialect: Dialect): Ajv {
  let checker = checkers.get(dialect)
  if (!checker) {
    checker = new dialect(options)
    formatsPlugin.default(checker, { formats })
    checkers.set(dialect, checker)
  }
  return checker
}

/** Returns a function that checks a format of ajv-formats. */
function isFormat(format: FormatName) {
  let validate: ValidateFunction | undefined
  return (text: string) => {
    validate ??= checkerOf(Ajv).compile({ type: 'string', format })
    return validate(text)
  }
}

const [isUri, isUriReference, isHostname] = [isFormat('uri'), isFormat('uri-reference'), isFormat('hostname')]
const isHost = (text: string) => !/[\s%]/.test(text) && isHostname(domainToASCII(text))

/** The formats of draft-07 that ajv-formats lacks. They are derived from the corresponding ASCII formats. */
const internationalFormats = {
  iri: (text: string) => isUri(asciiOf(text)),
  'iri-reference': (text: string) => isUriReference(asciiOf(text)),
  'idn-hostname': isHost,
  'idn-email': (text: string) => {
    const at = text.lastIndexOf('@')
    return at > 0 && !/[\s@]/.test(text.slice(0, at)) && isHost(text.slice(at + 1))
  },
}

/** Returns the dialect that `$schema` names. */
function dialectOf($schema: unknown): Dialect {
  if ($schema !== undefined && typeof $schema !== 'string') throw unusable('$schema must be a text', '/$schema')
  const named = $schema?.replace(/^https?:\/\//, '').replace(/#$/, '') ?? 'json-schema.org/draft-07/schema'
  const dialect = Object.hasOwn(dialects, named) ? dialects[named as keyof typeof dialects] : undefined
  if (!dialect)
    throw unusable(`$schema ${named.slice(0, 100)} is not supported; use draft-07, 2019-09 or 2020-12`, '/$schema')
  return dialect
}

/** Replaces the keyword of Ajv, which divides binary fractions and therefore rejects 0.3 as a multiple of 0.1. */
const multipleOf: CodeKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  code(cxt) {
    const isMultiple = cxt.gen.scopeValue('func', { ref: isMultipleOf })
    cxt.fail(_`!${isMultiple}(${cxt.data}, ${cxt.schemaCode})`)
  },
}

/**
 * Creates an Ajv instance. Each schema has its own, because a shared instance would keep every `$id` and resolve references to schemas of
 * other users.
 */
function newAjv(dialect: Dialect): Ajv {
  const ajv = new dialect({ ...options, validateSchema: false })
  ajv.removeKeyword('multipleOf').addKeyword(multipleOf)
  formatsPlugin.default(ajv, { formats })
  for (const [name, isValid] of Object.entries(internationalFormats)) ajv.addFormat(name, isValid)
  return ajv
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a function that validates JSON text. Throws a SchemaError if the schema cannot be used. */
export function compileSchema(text: string): (data: string) => Violations {
  foundCount = 0
  const validate = validatorOf(parsed(text))
  return (data) => {
    foundCount = 0
    return validate(JSON.parse(data)) ? { violations: [], more: 0 } : violationsOf(validate.errors)
  }
}

function parsed(text: string): Record<string, unknown> {
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch (error) {
    throw unusable(`the schema is not JSON: ${(error as Error).message}`)
  }
  if (!isObject(schema)) throw unusable('the schema is not an object')
  return schema
}

function validatorOf({ $schema, ...schema }: Record<string, unknown>): ValidateFunction {
  // With `$async`, Ajv would return promises.
  if (Object.hasOwn(schema, '$async')) throw unusable('$async is not supported', '/$async')
  try {
    const dialect = dialectOf($schema)
    const checker = checkerOf(dialect)
    if (checker.validateSchema(schema) !== true) throw new SchemaError(violationsOf(checker.errors))
    checkParts(schema)
    return newAjv(dialect).compile(schema)
  } catch (error) {
    if (error instanceof SchemaError) throw error
    if (error instanceof RangeError) throw unusable('the schema is nested too deeply')
    throw unusable((error as Error).message)
  }
}

/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(['const', 'enum', 'default', 'examples'])

const depthMax = 64

function* partsOf(schema: unknown, depth = 0): Generator<Record<string, unknown>> {
  if (depth > depthMax) throw unusable(`the schema is nested deeper than ${depthMax} levels`)
  if (Array.isArray(schema)) for (const item of schema) yield* partsOf(item, depth + 1)
  if (!isObject(schema)) return
  yield schema
  for (const [key, value] of Object.entries(schema)) if (!dataKeywords.has(key)) yield* partsOf(value, depth + 1)
}

/**
 * Checks patterns and references even where Ajv compiles nothing: in definitions that are not referenced, and for keys of
 * `patternProperties` whose schema is `{}`.
 */
function checkParts(schema: Record<string, unknown>) {
  const parts = [...partsOf(schema)]
  const ids = parts.flatMap(({ $id }) => (typeof $id === 'string' ? [$id.replace(/#.*$/, '')] : []))
  for (const { pattern, patternProperties, $ref } of parts) {
    if (typeof pattern === 'string') linearRegExp(pattern)
    if (isObject(patternProperties)) for (const name of Object.keys(patternProperties)) linearRegExp(name)
    if (typeof $ref !== 'string') continue
    const base = $ref.replace(/#.*$/, '')
    const isKnown = base === '' || ids.some((id) => id.endsWith(base)) || isMetaSchema(base)
    if (!isKnown) throw unusable(`can't resolve reference ${$ref}: only references within the schema are supported`)
  }
}

const isMetaSchema = (base: string) => Object.hasOwn(dialects, base.replace(/^https?:\/\//, ''))

const violationsOf = (errors: ErrorObject[] | null | undefined): Violations => ({
  violations: (errors ?? []).slice(0, violationsMax).map((error) => ({
    path: error.instancePath,
    message: messageOf(error).slice(0, messageLengthMax),
  })),
  more: Math.max(0, (errors?.length ?? 0) - violationsMax),
})

/** Returns the message of a violation. It adds the key or the values that Ajv's own message leaves out. */
function messageOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'additionalProperties') return `${message}: '${params.additionalProperty}'`
  if (keyword === 'unevaluatedProperties') return `${message}: '${params.unevaluatedProperty}'`
  if (keyword === 'propertyNames') return `${message}: '${params.propertyName}'`
  if (keyword === 'enum') return `${message}: ${JSON.stringify(params.allowedValues)}`
  if (keyword === 'const') return `${message}: ${JSON.stringify(params.allowedValue)}`
  return message
}
