/** Validates the JSON schema of endpoint configurations. */
import { Ajv, type Options } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ConfigurationProblem } from '../../kernel/configuration.ts'
import { depthLimit } from '../../kernel/http/body.ts'

type JsonObject = Record<string, unknown>

const options: Options = { strict: false, logger: false }
const dialects = new Map<string, Ajv>()

function dialectOf(schema: JsonObject): Ajv {
  const named = String(schema.$schema ?? '')
  const key = ['2020-12', '2019-09'].find((year) => named.includes(year)) ?? 'draft-07'
  const known = dialects.get(key)
  if (known) return known
  const ajv = key === '2020-12' ? new Ajv2020(options) : key === '2019-09' ? new Ajv2019(options) : new Ajv(options)
  dialects.set(key, ajv)
  return ajv
}

/**
 * Checks that the text is a schema that can be compiled, without compiling it, because that would block the event loop for seconds
 * with a long one.
 */
export function checkSchemaText(config: { endpointConfigurationSchema?: string }): ConfigurationProblem | undefined {
  const text = config.endpointConfigurationSchema
  const problem = text === undefined ? undefined : problemOf(text)
  if (problem === undefined) return undefined
  return { path: ['endpointConfigurationSchema'], problem: `expected a JSON schema as text: ${problem}` }
}

function problemOf(text: string): string | undefined {
  try {
    const schema: unknown = JSON.parse(text)
    if (!isObject(schema)) return 'it is not an object'
    const ajv = dialectOf(schema)
    if (ajv.validateSchema(schema) !== true) return ajv.errorsText(ajv.errors, { dataVar: 'schema' }).slice(0, 300)
    const parts = [...partsOf(schema)]
    for (const pattern of parts.flatMap(patternsOf)) new RegExp(pattern, 'u')
    const references = new Set(parts.map(({ $ref }) => $ref).filter((ref) => typeof ref === 'string'))
    const bases = parts.filter((part) => part === schema || typeof part.$id === 'string')
    if (references.size > referencesMax) return `it has more than ${referencesMax} different $ref`
    if (bases.length > basesMax) return `it has more than ${basesMax} parts with an $id`
    const anchors = new Set(parts.flatMap(anchorsOf))
    const lost = [...references].find((reference) => !isResolvable(reference, bases, anchors))
    return lost === undefined ? undefined : `nothing is at $ref ${lost.slice(0, 200)}`
  } catch (error) {
    return (error as Error).message.slice(0, 300)
  }
}

/** Limits of the search, which tries every reference below every base; within them it takes milliseconds. */
const referencesMax = 500
const basesMax = 100

/** Keywords whose values are data, not schemas. */
const dataKeywords = ['const', 'enum', 'default', 'examples']

function* partsOf(schema: unknown, depth = 0): Generator<JsonObject> {
  if (depth > depthLimit) throw new Error(`it is nested deeper than ${depthLimit} levels`)
  if (Array.isArray(schema)) for (const item of schema) yield* partsOf(item, depth + 1)
  if (!isObject(schema)) return
  yield schema
  for (const [key, value] of Object.entries(schema)) if (!dataKeywords.includes(key)) yield* partsOf(value, depth + 1)
}

const patternsOf = ({ pattern, patternProperties }: JsonObject) => [
  ...(typeof pattern === 'string' ? [pattern] : []),
  ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
]

const anchorsOf = ({ $anchor, $id }: JsonObject) => [
  ...(typeof $anchor === 'string' ? [$anchor] : []),
  ...(typeof $id === 'string' && $id.startsWith('#') ? [$id.slice(1)] : []),
]

/** Whether a reference can be resolved within the schema itself; nothing is fetched. */
function isResolvable(reference: string, bases: JsonObject[], anchors: Set<string>): boolean {
  const [base, fragment = ''] = reference.split('#', 2) as [string, string?]
  const from = base === '' ? bases : bases.filter(({ $id }) => typeof $id === 'string' && $id.split('#')[0] === base)
  if (fragment === '') return from.length > 0
  if (!fragment.startsWith('/')) return anchors.has(fragment)
  const steps = decodeURIComponent(fragment).split('/').slice(1)
  const keys = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return from.some((start) => hasPath(start, keys))
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function hasPath(start: unknown, keys: string[]): boolean {
  let value = start
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = (value as JsonObject)[key]
  }
  return true
}
