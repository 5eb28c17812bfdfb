/** Checks and reads configurations by the schemas of service instances. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { ConfigurationInstance, ConfigurationProblem, Level } from './configuration.ts'
import type { TSchema } from './schema.ts'

type Config = Record<string, unknown>

const checking = new Ajv({ strict: false, ownProperties: true })
/** Fills in defaults, and lists all violations, because each violating part is left out. */
const reading = new Ajv({ strict: false, ownProperties: true, useDefaults: true, allErrors: true })

const compiled = new Map([checking, reading].map((ajv) => [ajv, new WeakMap<object, ValidateFunction>()]))

function validatorOf(ajv: Ajv, schema: TSchema): ValidateFunction {
  const known = compiled.get(ajv)!
  const validate = known.get(schema) ?? ajv.compile(schema)
  known.set(schema, validate)
  return validate
}

/** Returns the first violation; undefined if the instance accepts this configuration at this level. */
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
 * Reads a stored configuration: adds defaults and leaves out what violates the schema. Configurations are checked before they are
 * stored, but a restored or older one may be invalid, and must not stop the service.
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
      // A version may have null for a value that only its application configures.
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

/** Keeps only the first of several violations of one value, which is removed as a whole. Reversed, so that array indices stay valid. */
function withoutRepeats(problems: ConfigurationProblem[]): ConfigurationProblem[] {
  const byPath = new Map<string, ConfigurationProblem>()
  for (const problem of problems) {
    const key = JSON.stringify(problem.path)
    if (!byPath.has(key)) byPath.set(key, problem)
  }
  return [...byPath.values()].toReversed()
}

/**
 * Removes the smallest part that can be missing: the array item or map entry that contains the value, else the value itself.
 * Returns false if nothing would be left.
 */
function leaveOut(config: Config, path: string[], schema: TSchema): boolean {
  const steps = path.slice(0, unitLength(path, schema))
  const last = steps.pop()
  if (last === undefined) return false
  const holder = at(config, steps)
  if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else if (typeof holder === 'object' && holder !== null && Object.hasOwn(holder, last)) delete (holder as Config)[last]
  // A required value is missing: remove the part that should contain it.
  else return steps.length > 0 && leaveOut(config, steps, schema)
  return true
}

interface Shape {
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
}

/** Returns how many keys of the path lead to the innermost item or entry; all of them if there is none. */
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

/** Freezes the value, because all readers share it. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
