/**
 * Validates requests and serializes responses. A schema is compiled on first use, because compiling hundreds of schemas would slow down the
 * start. Bodies are validated strictly. Parts of the URL are texts and are converted; for bodies, such conversion would turn null into "".
 */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import type { FastifyInstance } from 'fastify'
import { type ErrorExtra, InvalidRequest, invalidField, type PlatformError } from '../errors.ts'
import type { TSchema } from '../schema.ts'
import { alternatives, expectation } from '../schema-problems.ts'

const commonOptions = {
  strict: false,
  useDefaults: true,
  removeAdditional: false,
  ownProperties: true,
  // Our schemas are constants, and a test checks them. For this check, Ajv would compile the meta-schema, which takes 30 ms per instance.
  meta: false,
  validateSchema: false,
} as const

/** Creates an Ajv instance on first use, because each takes several milliseconds of the start. */
function lazyAjv(options: Options): () => Ajv {
  let ajv: Ajv | undefined
  return () => {
    if (!ajv) {
      ajv = new Ajv(options)
      formats.default(ajv, ['date-time', 'date', 'uri', 'email', 'uuid'])
    }
    return ajv
  }
}
const strict = lazyAjv(commonOptions)
const coercing = lazyAjv({ ...commonOptions, coerceTypes: 'array' })
/** Reports all errors. Used for small bodies only, because a large body could have a million errors. */
const allErrorsOptions = { ...commonOptions, allErrors: true, verbose: true } as const
const thorough = lazyAjv(allErrorsOptions)
const thoroughCoercing = lazyAjv({ ...allErrorsOptions, coerceTypes: 'array' })

const cachedCompiler = (choose: (part: string) => Ajv) => {
  const validators = new WeakMap<object, ValidateFunction>()
  return (schema: TSchema, part: string) => {
    let validate = validators.get(schema)
    if (!validate) {
      validate = choose(part).compile(schema)
      validators.set(schema, validate)
    }
    return validate
  }
}
/** Returns whether the part is JSON. All other parts belong to the URL. */
const isJson = (part: string) => part === 'body' || part === 'payload'
const quickValidator = cachedCompiler((part) => (isJson(part) ? strict() : coercing()))
const thoroughValidator = cachedCompiler((part) => (isJson(part) ? thorough() : thoroughCoercing()))

const smallValuesMax = 500

/** Returns whether the data is small enough to list all of its errors. */
function isSmall(data: unknown): boolean {
  let remaining = smallValuesMax
  const walk = (value: unknown): boolean => {
    if (--remaining < 0) return false
    if (typeof value !== 'object' || value === null) return true
    const inner = Array.isArray(value) ? value : Object.values(value)
    return inner.length <= remaining && inner.every(walk)
  }
  return walk(data)
}

const integersIn = new WeakMap<object, string[]>()

/** Requires digits for integers in a URL, because Ajv's conversion would turn `limit= ` into 0, which means "all", and `0x10` into 16. */
function rejectOddIntegers(schema: TSchema, parts: Record<string, unknown>) {
  let names = integersIn.get(schema)
  if (!names) {
    const properties = (schema as { properties?: Record<string, { type?: unknown }> }).properties ?? {}
    names = Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
    integersIn.set(schema, names)
  }
  for (const name of names) {
    const value = parts[name]
    if (typeof value === 'string' && !/^-?\d+$/.test(value)) throw invalidField(name, 'expected an integer')
  }
}

const serializers = new WeakMap<object, (data: unknown) => string>()

/** Throws a 400 that describes the errors. Fills in defaults, and converts parts of the URL to their types. */
export function checkShape(schema: TSchema, data: unknown, part: string) {
  if (!isJson(part)) rejectOddIntegers(schema, data as Record<string, unknown>)
  const quick = quickValidator(schema, part)
  if (quick(data)) return
  if (!isSmall(data)) throw invalidRequest(quick.errors ?? [], part)
  const validate = thoroughValidator(schema, part)
  validate(data)
  throw invalidRequest(validate.errors ?? quick.errors ?? [], part)
}

export function compileLazily(app: FastifyInstance) {
  app.setValidatorCompiler<TSchema>(({ schema, httpPart = 'body' }) => (data: unknown) => {
    checkShape(schema, data, httpPart)
    return { value: data }
  })
  app.setSerializerCompiler<TSchema>(({ schema }) => (data: unknown) => {
    let serialize = serializers.get(schema)
    if (!serialize) {
      serialize = fastJsonStringify(schema as never) as (data: unknown) => string
      serializers.set(schema, serialize)
    }
    return serialize(data)
  })
}

/** Creates the error with messages such as `admin.email: expected a string`. Each error format uses the parts that it needs. */
function invalidRequest(errors: ErrorObject[], part: string): PlatformError {
  // The object has no prototype, because a body may have a field such as `constructor`.
  const fields: NonNullable<ErrorExtra['fields']> = Object.create(null)
  for (const error of withoutOtherAlternatives(errors)) {
    const problem = expectation(error)
    if (!problem) continue
    const name = fieldOf(error, part)
    if (!fields[name]?.includes(problem)) fields[name] = [...(fields[name] ?? []), problem]
  }
  const [first = [part, ['is not valid']]] = Object.entries(fields)
  const rest = Object.keys(fields).length - 1
  const more = rest > 0 ? ` (and ${rest} more: ${Object.keys(fields).slice(1, 21).join(', ')})` : ''
  return InvalidRequest({ problem: `${first[0]}: ${first[1][0]}${more}` }, { fields })
}

/**
 * Removes the errors of alternatives of another type if the alternative of the right type has errors of its own: if an object or an array is
 * allowed and the value is an array, only the errors of its items matter. If no alternative has the right type, one error names all types.
 */
function withoutOtherAlternatives(errors: ErrorObject[]): ErrorObject[] {
  const isChoice = ({ keyword }: ErrorObject) => keyword === 'anyOf' || keyword === 'oneOf'
  const paths = new Set(errors.filter(isChoice).map(({ instancePath }) => instancePath))
  if (paths.size === 0) return errors
  const isOfChoice = (error: ErrorObject) =>
    paths.has(error.instancePath) && (error.keyword === 'type' || isChoice(error))
  const ownErrors = errors.filter((error) => !isOfChoice(error))
  const hasOwn = (path: string) => ownErrors.some(({ instancePath }) => `${instancePath}/`.startsWith(`${path}/`))
  const named = new Set(
    errors.filter((error) => isChoice(error) && alternatives(error.parentSchema)).map((error) => error.instancePath),
  )
  return errors.filter(
    (error) =>
      !isOfChoice(error) ||
      !(hasOwn(error.instancePath) || (error.keyword === 'type' && named.has(error.instancePath))),
  )
}

function fieldOf({ instancePath, keyword, params }: ErrorObject, part: string): string {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  return path.length === 0 ? part : path.join('.')
}
