import { type ConfigurationProblem, defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { defaulted, type Static, Type } from '../../kernel/schema.ts'

const seriesNamePattern = '^[a-zA-Z0-9_-]+$'
const seriesNameLengthMax = 255
export const seriesName = /^[A-Za-z0-9_-]{1,255}$/

export const defaultValueName = 'value'
const valueNameLengthMax = 255
/** Value names that are not allowed, because document 3, 3.3 reserves them. */
const reservedValueNames = ['time', 'kaaEndpointID', 'kaaEmpty', '_field', '_measurement']
const forbiddenInValueName = '\\\\^$"\'=,'
/** Control characters are not allowed in names, because line breaks and tabs separate names in keys (`fieldOf`, `keyOf`). */
const controls = '\\u0000-\\u001f\\u007f'
const valueNamePattern = `^(?!(?:${reservedValueNames.join('|')})$)[^${forbiddenInValueName}${controls}]+$`

/** Returns why a value name from a request is invalid, or undefined if it is valid. */
export function valueNameProblem(name: string): string | undefined {
  if (name.length === 0 || name.length > valueNameLengthMax) return `must have 1 to ${valueNameLengthMax} characters`
  if (reservedValueNames.includes(name)) return 'is a reserved name'
  if (new RegExp(`[${controls}]`).test(name)) return 'must not contain control characters'
  return valueName.test(name) ? undefined : 'must not contain any of \\ ^ $ " \' = ,'
}
const valueName = new RegExp(valueNamePattern)

const flag = (description: string, fallback: boolean) => defaulted(Type.Boolean({ description, default: fallback }))

const SeriesValue = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 1024, description: 'JSON path inside the sample, without $.' }),
  name: defaulted(Type.String({ pattern: valueNamePattern, maxLength: valueNameLengthMax, default: defaultValueName })),
  type: Type.Optional(Type.Enum(['number', 'string', 'boolean'])),
})

const extraction = {
  'time-series': Type.Optional(
    Type.Object({
      'auto-extract': flag('Every top-level number of a sample becomes a series auto~<name>', true),
      names: Type.Optional(
        Type.Unsafe<Record<string, { values: Static<typeof SeriesValue>[] }>>({
          type: 'object',
          propertyNames: { pattern: seriesNamePattern, maxLength: seriesNameLengthMax },
          additionalProperties: Type.Object({ values: Type.Array(SeriesValue, { minItems: 1 }) }),
        }),
      ),
      timestamp: Type.Optional(
        Type.Object({
          path: defaulted(Type.String({ minLength: 1, maxLength: 1024, default: 'timestamp' })),
          format: Type.Optional(Type.Enum(['millis-unix-epoch', 'unix-epoch', 'iso8601'])),
          'fallback-strategy': defaulted(Type.Enum(['server-timestamp', 'fail'], { default: 'server-timestamp' })),
        }),
      ),
    }),
  ),
}

export const retentionDaysMax = 36_500
const keptDays = (description: string) => Type.Integer({ minimum: 1, maximum: retentionDaysMax, description })

const RetentionShape = Type.Object(
  {
    days: Type.Optional(keptDays('Points of series that are not named are deleted after this number of days')),
    series: Type.Optional(
      Type.Record(
        Type.String({ maxLength: 300 }),
        keptDays('Points of this series are deleted after this number of days'),
      ),
    ),
  },
  { additionalProperties: false },
)
export type RetentionConfiguration = Static<typeof RetentionShape>

const TimeSeriesShape = Type.Object({ ...extraction, retention: Type.Optional(RetentionShape) })
export type TimeSeriesConfiguration = Static<typeof TimeSeriesShape>

const VersionShape = Type.Object({
  ...extraction,
  // Series belong to the application, and all its versions share them.
  retention: Type.Optional(Type.Null({ description: 'retention is a setting of the application' })),
})

/** Checks that the values of a series have different names. A value without a name has the name `value` (document 3, 3.1). */
function checkSeriesNames(config: TimeSeriesConfiguration): ConfigurationProblem | undefined {
  for (const [series, { values }] of Object.entries(config['time-series']?.names ?? {})) {
    const taken = new Set<string>()
    for (const [index, { name = defaultValueName }] of values.entries()) {
      if (taken.has(name))
        return {
          path: ['time-series', 'names', series, 'values', `${index}`, 'name'],
          problem: `"${name}" is the name of another value of this series`,
        }
      taken.add(name)
    }
  }
  return undefined
}

/** The instance `epts`: which series are extracted from samples, and how long points are kept (document 3, 3.1). */
export const timeSeriesInstance = defineInstance({
  name: 'epts',
  group: 'Data collection',
  description: 'Time series',
  urlPrefix: '/epts',
  schemas: { application: TimeSeriesShape, version: VersionShape },
  check: checkSeriesNames,
})

export const dataCollectionInstance = defineInstance({
  name: 'dcx',
  group: 'Data collection',
  description: 'Data collection extension',
  schemas: forApplicationAndVersion(
    Type.Object({
      'metadata-enrichment': Type.Optional(
        Type.Object({
          enabled: flag("Samples that are objects get the endpoint's metadata", false),
          path: defaulted(Type.String({ minLength: 1, maxLength: 255, default: '~ep-metadata' })),
        }),
      ),
      'relaxed-resource-path': flag('/json/<any text> and /plain/<metric> are accepted', true),
    }),
  ),
})

export const timeSeriesInstances = [dataCollectionInstance, timeSeriesInstance]
