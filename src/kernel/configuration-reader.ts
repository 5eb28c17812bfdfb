/** Checks the configurations that users send, and reads stored configurations, with the schemas of the service instances. */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import type { ConfigurationInstance, ConfigurationProblem, Level } from './configuration.ts'
import type { TSchema } from './schema.ts'
import { expectation } from './schema-problems.ts'

type Config = Record<string, unknown>

/** Returns a function that compiles each schema once. Ajv is created on first use, because creating it takes milliseconds of the start. */
function createCompiler(options: Options): (schema: TSchema) => ValidateFunction {
  const validators = new WeakMap<object, ValidateFunction>()
  let ajv: Ajv | undefined
  return (schema) => {
    let validate = validators.get(schema)
    if (!validate) {
      // A test checks the schemas, so Ajv need not: for this check, it would compile the meta-schema, which takes 30 ms.
      ajv ??= new Ajv({
        strict: false,
        ownProperties: true,
        meta: false,
        validateSchema: false,
        verbose: true,
        ...options,
      })
      validate = ajv.compile(schema)
      validators.set(schema, validate)
    }
    return validate
  }
}

const checkerOf = createCompiler({})
/** Fills in defaults and lists all violations, because each part that violates the schema is left out. */
const readerOf = createCompiler({ useDefaults: true, allErrors: true })

/** Returns the first violation, or undefined if the instance accepts this configuration at this level. */
export function configurationProblem(
  instance: ConfigurationInstance,
  level: Level,
  config: Config,
): ConfigurationProblem | undefined {
  const schema = instance.schemas[level]
  if (!schema) return undefined
  const validate = checkerOf(schema)
  return validate(config) ? instance.check?.(config as never) : problemOf(validate.errors![0]!)
}

export interface ReadConfiguration<C> {
  config: C
  /** Parts that violate the schema. They are left out of `config`. */
  problems: ConfigurationProblem[]
}

/**
 * Reads a stored configuration: adds defaults, and leaves out the parts that violate the schema. Configurations are checked before they are
 * stored. A configuration that was restored, or stored by an older version, may still be invalid, and must not stop the service.
 */
export function readConfiguration(
  instance: ConfigurationInstance,
  level: Level,
  stored: Config,
): ReadConfiguration<Config> {
  const schema =
    level === 'tenant' ? instance.schemas.tenant : (instance.schemas.application ?? instance.schemas.version)
  if (!schema) return { config: stored, problems: [] }
  const validate = readerOf(schema)
  const problems: ConfigurationProblem[] = []
  let config = hasDefaults(schema) ? structuredClone(stored) : stored
  for (;;) {
    const violations = validate(config)
      ? [instance.check?.(config as never)].filter((problem) => problem !== undefined)
      : validate.errors!.map(problemOf)
    if (violations.length === 0) return { config: deepFreeze(config), problems }
    if (config === stored) config = structuredClone(stored)
    for (const problem of firstOfEachPath(violations)) {
      // Null is no problem: a version may contain it for a value that only its application configures.
      if (valueAt(config, problem.path) !== null) problems.push(problem)
      if (!removePart(config, problem.path, schema)) return { config: deepFreeze({}), problems }
    }
  }
}

const schemasWithDefaults = new WeakMap<object, boolean>()
function hasDefaults(schema: object): boolean {
  const result = schemasWithDefaults.get(schema) ?? JSON.stringify(schema).includes('"default":')
  schemasWithDefaults.set(schema, result)
  return result
}

/**
 * Keeps the first violation of each value. The order is reversed, so that the removal of an array item does not change the index of items
 * that are removed later.
 */
function firstOfEachPath(problems: ConfigurationProblem[]): ConfigurationProblem[] {
  const byPath = new Map<string, ConfigurationProblem>()
  for (const problem of problems) {
    const key = JSON.stringify(problem.path)
    if (!byPath.has(key)) byPath.set(key, problem)
  }
  return [...byPath.values()].toReversed()
}

/**
 * Removes the smallest part that may be absent: the array item or map entry that contains the value, otherwise the value itself. Returns
 * false if nothing would be left.
 */
function removePart(config: Config, path: string[], schema: TSchema): boolean {
  const steps = path.slice(0, depthOfPart(path, schema))
  const last = steps.pop()
  if (last === undefined) return false
  const container = valueAt(config, steps)
  if (Array.isArray(container)) container.splice(Number(last), 1)
  else if (typeof container === 'object' && container !== null && Object.hasOwn(container, last))
    delete (container as Config)[last]
  // A required value is missing, so the part that should contain it is removed.
  else return steps.length > 0 && removePart(config, steps, schema)
  return true
}

interface Shape {
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  items?: Shape
}

/**
 * Returns the number of path keys up to the innermost array item or map entry. If the path has no such item or entry, returns its length.
 */
function depthOfPart(path: string[], schema: TSchema): number {
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

function valueAt(value: unknown, path: string[]): unknown {
  let current = value
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined
    current = (current as Config)[step]
  }
  return current
}

function problemOf(error: ErrorObject): ConfigurationProblem {
  const { instancePath, keyword, params, propertyName, message } = error
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (keyword === 'propertyNames') path.push(params.propertyName)
  else if (propertyName !== undefined) path.push(propertyName)
  return { path, problem: expectation(error) ?? message! }
}

/** Freezes the value, because all callers that read it share it. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
