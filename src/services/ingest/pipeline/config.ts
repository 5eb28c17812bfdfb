import { javaClassOf } from '../../../painless/values.ts'

/** A mistake in the definition of a processor. */
export class ConfigError extends Error {
  readonly type: string
  readonly property: string | undefined
  constructor(reason: string, property?: string, type = 'parse_exception') {
    super(property === undefined ? reason : `[${property}] ${reason}`)
    this.type = type
    this.property = property
  }
}

/** The options of a processor. `finishConfig` reports options that the processor does not have. */
export interface Config {
  processorType: string
  values: Map<unknown, unknown>
  read: Set<string>
}

export const openConfig = (processorType: string, values: Map<unknown, unknown>): Config => ({
  processorType,
  values,
  read: new Set(),
})

export function takeValue(config: Config, name: string): unknown {
  config.read.add(name)
  return config.values.get(name)
}

export function requiredValue(config: Config, name: string): unknown {
  const value = takeValue(config, name)
  if (value === undefined || value === null) throw new ConfigError('required property is missing', name)
  return value
}

const wrongType = (name: string, value: unknown, expectedType: string): ConfigError =>
  new ConfigError(`property isn't a ${expectedType}, but of type [${javaClassOf(value)}]`, name)

export function optionalText(config: Config, name: string): string | undefined {
  const value = takeValue(config, name)
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrongType(name, value, 'string')
  return value
}

export function requiredText(config: Config, name: string): string {
  const value = requiredValue(config, name)
  if (typeof value !== 'string') throw wrongType(name, value, 'string')
  return value
}

/** Reads a text. A number or boolean is also accepted. */
export function requiredScalar(config: Config, name: string): string {
  const value = requiredValue(config, name)
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  throw wrongType(name, value, 'string or int')
}

export function flag(config: Config, name: string, fallback: boolean): boolean {
  const value = takeValue(config, name)
  if (value === undefined || value === null) return fallback
  if (typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  throw wrongType(name, value, 'boolean')
}

/** Reads a list of texts. A single text counts as a list too. */
export function textList(config: Config, name: string): string[] {
  const value = requiredValue(config, name)
  const list = Array.isArray(value) ? value : [value]
  if (list.length === 0 || !list.every((item) => typeof item === 'string'))
    throw wrongType(name, value, 'list of strings')
  return list as string[]
}

/** Reports options that the processor does not have. */
export function finishConfig(config: Config): void {
  const unknown = [...config.values.keys()].filter((name) => !config.read.has(String(name)))
  if (unknown.length > 0)
    throw new ConfigError(
      `processor [${config.processorType}] doesn't support one or more provided configuration parameters [${unknown.join(', ')}]`,
    )
}
