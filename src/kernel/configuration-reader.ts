/** Checks and reads configurations by the schemas that service instances declare. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { ConfigurationInstance, ConfigurationProblem, Level } from './configuration.ts'
import type { TSchema } from './schema.ts'

type Config = Record<string, unknown>

const checking = new Ajv({ strict: false, ownProperties: true })
/** Fills in defaults, and lists every violation: each of them is a part to leave out. */
const reading = new Ajv({ strict: false, ownProperties: true, useDefaults: true, allErrors: true })

const compiled = new Map([checking, reading].map((ajv) => [ajv, new WeakMap<object, ValidateFunction>()]))

function validatorOf(ajv: Ajv, schema: TSchema): ValidateFunction {
  const known = compiled.get(ajv)!
  const validate = known.get(schema) ?? ajv.compile(schema)
  known.set(schema, validate)
  return validate
}

/** The first violation; undefined when the instance accepts this configuration on this level. */
export function configurationProblem(
  instance: ConfigurationInstance,
  level: Level,
  config: Config,
): ConfigurationProblem | undefined {
  const schema = instance.schemas[level]
  if (!schema) return undefined
  const validate = validatorOf(checking, schema)
  return validate(config) ? instance.check?.(config as never) : problemOf(validate.errors![0]!)
}

export interface ReadConfiguration<C> {
  config: C
  /** Parts that violate the schema; they are left out of `config`. */
  problems: ConfigurationProblem[]
}

/**
 * A stored configuration as its service uses it: with defaults, and without what violates the schema. Configurations are checked
 * before they are stored, but a restored or older one may be anything, and must not stop the service.
 */
export function readConfiguration(
  instance: ConfigurationInstance,
  level: Level,
  stored: Config,
): ReadConfiguration<Config> {
  const schema =
    level === 'tenant' ? instance.schemas.tenant : (instance.schemas.application ?? instance.schemas.version)
  if (!schema) return { config: stored, problems: [] }
  const validate = validatorOf(reading, schema)
  const problems: ConfigurationProblem[] = []
  let config = hasDefaults(schema) ? structuredClone(stored) : stored
  for (;;) {
    const found = validate(config)
      ? [instance.check?.(config as never)].filter((problem) => problem !== undefined)
      : validate.errors!.map(problemOf)
    if (found.length === 0) return { config: freeze(config), problems }
    if (config === stored) config = structuredClone(stored)
    for (const problem of withoutRepeats(found)) {
      // A version may hold null for what only its application configures.
      if (at(config, problem.path) !== null) problems.push(problem)
      if (!leaveOut(config, problem.path, schema)) return { config: freeze({}), problems }
    }
  }
}

const defaults = new WeakMap<object, boolean>()
function hasDefaults(schema: object): boolean {
  const known = defaults.get(schema) ?? JSON.stringify(schema).includes('"default":')
  defaults.set(schema, known)
  return known
}

/** Of several violations below one value only the first: it goes as a whole. Later items of an array first, so that indices hold. */
function withoutRepeats(problems: ConfigurationProblem[]): ConfigurationProblem[] {
  const byPath = new Map<string, ConfigurationProblem>()
  for (const problem of problems) {
    const key = JSON.stringify(problem.path)
    if (!byPath.has(key)) byPath.set(key, problem)
  }
  return [...byPath.values()].toReversed()
}

/**
 * Removes the smallest part that can be missing: the item of an array or the entry of a map that holds the value, else the value
 * itself. False: the whole configuration would be left.
 */
function leaveOut(config: Config, path: string[], schema: TSchema): boolean {
  const steps = path.slice(0, unitLength(path, schema))
  const last = steps.pop()
  if (last === undefined) return false
  const holder = at(config, steps)
  if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else if (typeof holder === 'object' && holder !== null && Object.hasOwn(holder, last)) delete (holder as Config)[last]
  // It is missing although it is required: then what should hold it goes.
  else return steps.length > 0 && leaveOut(config, steps, schema)
  return true
}

interface Shape {
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
}

/** How many steps of the path lead to the innermost item or entry; all of them where there is none. */
function unitLength(path: string[], schema: TSchema): number {
  let shape: Shape | undefined = schema as Shape
  let length: number | undefined
  for (const [index, step] of path.entries()) {
    const property: Shape | undefined =
      shape?.properties && Object.hasOwn(shape.properties, step) ? shape.properties[step] : undefined
    if (!property) length = index + 1
    const entry: Shape | boolean | undefined =
      Object.values(shape?.patternProperties ?? {})[0] ?? shape?.additionalProperties
    shape = property ?? shape?.items ?? (typeof entry === 'object' ? entry : undefined)
  }
  return length ?? path.length
}

function at(value: unknown, path: string[]): unknown {
  let found = value
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Config)[step]
  }
  return found
}

function problemOf({ instancePath, keyword, params, propertyName, message }: ErrorObject): ConfigurationProblem {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (keyword === 'propertyNames') path.push(params.propertyName)
  else if (propertyName !== undefined) path.push(propertyName)
  return { path, problem: expectation(keyword, params) ?? message! }
}

function expectation(keyword: string, params: ErrorObject['params']): string | undefined {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'this name is not known here'
  return keyword === 'enum' ? `expected one of ${params.allowedValues.join(', ')}` : undefined
}

/** Shared by all who read it. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
