/** What a JSON schema cannot say about a configuration. */
import { Ajv, type Options } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Static } from '../../../kernel/schema.ts'
import type { EndpointConfiguration, TimeSeriesConfiguration } from './shapes.ts'

export interface Problem {
  /** Below the configuration, with dots. */
  path: string
  problem: string
}

/** `value` is the default name, so at most one value of a series can do without (document 3, 3.1). */
export function checkSeriesNames(config: Static<typeof TimeSeriesConfiguration>): Problem | undefined {
  for (const [series, { values }] of Object.entries(config['time-series']?.names ?? {})) {
    const taken = new Set<string>()
    for (const [index, { name = 'value' }] of values.entries()) {
      const path = `time-series.names.${series}.values.${index}.name`
      if (taken.has(name)) return { path, problem: `"${name}" is the name of another value of this series` }
      taken.add(name)
    }
  }
  return undefined
}

const options: Options = { strict: false, logger: false, addUsedSchema: false }
const dialectOf = (schema: unknown) => {
  const named = (schema as { $schema?: unknown } | null)?.$schema
  if (typeof named !== 'string') return Ajv
  return named.includes('2020-12') ? Ajv2020 : named.includes('2019-09') ? Ajv2019 : Ajv
}

/** Compiled once to see that it can be; a compiler of its own, because one remembers every `$id` that it has met. */
export function checkSchemaText(config: Static<typeof EndpointConfiguration>): Problem | undefined {
  const text = config.endpointConfigurationSchema
  if (text === undefined) return undefined
  try {
    const schema: unknown = JSON.parse(text)
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('it is not an object')
    const Dialect = dialectOf(schema)
    new Dialect(options).compile(schema)
    return undefined
  } catch (error) {
    return {
      path: 'endpointConfigurationSchema',
      problem: `expected a JSON schema as text: ${(error as Error).message.slice(0, 300)}`,
    }
  }
}
