import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { invalidField } from '../../../kernel/errors.ts'
import { isObject } from '../merge-patch.ts'
import { type Instance, instances, type Level } from './table.ts'

const ajv = new Ajv({ strict: false, ownProperties: true })
const validators = new WeakMap<object, ValidateFunction>()

/** Bodies are bounded by the door; a configuration that grows by many small patches is bounded here. */
export const configurationBytesMax = 1024 * 1024

/** 400 that names the instance. */
export function knownInstance(name: string, path: string): Instance {
  const instance = instances.get(name)
  if (!instance) throw invalidField(path, `there is no service instance ${name}`)
  return instance
}

/** 400 with the path of the violation, unless the instance accepts this configuration on this level. */
export function validateConfiguration(
  of: { instance: string; level: Level; path: string },
  config: unknown,
): asserts config is Record<string, unknown> {
  const instance = knownInstance(of.instance, of.instance)
  if (!isObject(config)) throw invalidField(of.path, 'expected an object')
  if (Buffer.byteLength(JSON.stringify(config)) > configurationBytesMax)
    throw invalidField(of.path, `expected at most ${configurationBytesMax} bytes of JSON`)
  const schema = instance.schemas[of.level]
  if (!schema) return
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  if (!validate(config)) throw violation(of.path, validate.errors![0]!)
  const found = instance.check?.(config)
  if (found) throw invalidField(below(of.path, found.path), found.problem)
}

const below = (path: string, rest: string) => [path, rest].filter((part) => part !== '').join('.')

function violation(path: string, { instancePath, keyword, params, propertyName, message }: ErrorObject) {
  const steps = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') steps.push(params.missingProperty)
  if (keyword === 'additionalProperties') steps.push(params.additionalProperty)
  if (propertyName !== undefined) steps.push(propertyName)
  return invalidField(below(path, steps.join('.')) || 'body', expectation(keyword, params) ?? message!)
}

function expectation(keyword: string, params: ErrorObject['params']): string | undefined {
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'this name is not known here'
  return keyword === 'enum' ? `expected one of ${params.allowedValues.join(', ')}` : undefined
}
