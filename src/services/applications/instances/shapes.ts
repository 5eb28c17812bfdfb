/**
 * JSON schemas (draft 7) of the configurations that the documents describe. Other keys are allowed beside the known
 * ones: existing scripts send what their service understands.
 */
import { Type } from '../../../kernel/schema.ts'

const flag = (description: string, fallback: boolean) => Type.Optional(Type.Boolean({ description, default: fallback }))
const metadataKey = '^[a-zA-Z0-9_]+$'
const seriesName = '^[a-zA-Z0-9_-]+$'
// Document 3, 3.3: characters and words that a value's name may not use.
const valueName = '^(?!(?:time|kaaEndpointID|kaaEmpty|_field|_measurement)$)[^\\\\^$"\'=,]+$'

const SeriesValue = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 1024, description: 'JSON path inside the sample, without $.' }),
  name: Type.Optional(Type.String({ pattern: valueName, maxLength: 255, default: 'value' })),
  type: Type.Optional(Type.Enum(['number', 'string', 'boolean'])),
})

const keptDays = (description: string) => Type.Integer({ minimum: 1, maximum: 36_500, description })

const extraction = {
  'time-series': Type.Optional(
    Type.Object({
      'auto-extract': flag('Every top-level number of a sample becomes a series auto~<name>', true),
      names: Type.Optional(
        Type.Unsafe<Record<string, { values: { path: string; name?: string }[] }>>({
          type: 'object',
          propertyNames: { pattern: seriesName, maxLength: 255 },
          additionalProperties: Type.Object({ values: Type.Array(SeriesValue, { minItems: 1 }) }),
        }),
      ),
      timestamp: Type.Optional(
        Type.Object({
          path: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, default: 'timestamp' })),
          format: Type.Optional(Type.Enum(['millis-unix-epoch', 'unix-epoch', 'iso8601'])),
          'fallback-strategy': Type.Optional(Type.Enum(['server-timestamp', 'fail'], { default: 'server-timestamp' })),
        }),
      ),
    }),
  ),
}

/** Time series (document 3, 3.1). */
export const TimeSeriesConfiguration = Type.Object({
  ...extraction,
  retention: Type.Optional(
    Type.Object(
      {
        days: Type.Optional(keptDays('Points of series that are not named are deleted after so many days')),
        series: Type.Optional(
          Type.Record(
            Type.String({ maxLength: 300 }),
            keptDays('Points of this series are deleted after so many days'),
          ),
        ),
      },
      { additionalProperties: false },
    ),
  ),
})

export const TimeSeriesVersionConfiguration = Type.Object({
  ...extraction,
  // Series belong to the application: versions share them.
  retention: Type.Optional(Type.Null({ description: 'retention is a setting of the application' })),
})

/** Request status (document 3, 2.C). */
export const RequestStatusConfiguration = Type.Object({
  outcomes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 1000,
      description: 'How many of the last requests of an endpoint to an extension are remembered',
    }),
  ),
})

/** Which extensions a device may talk to; absent: all of them. */
export const GatewayConfiguration = Type.Object({
  'allowed-extension-instances': Type.Optional(
    Type.Array(Type.Enum(['dcx', 'epmx', 'tsx', 'cmx', 'cmx_ota', 'cex', 'bcx', 'rsx', 'adx']), { uniqueItems: true }),
  ),
})

const required = Type.Optional(Type.Object({ required: flag('Clients without it are refused', false) }))
const transport = (properties: Record<string, typeof required>) => Type.Optional(Type.Object(properties))

/** Who may connect (document 3, 1.16); a setting of the tenant. */
export const GatewayTenantConfiguration = Type.Object({
  transports: Type.Optional(
    Type.Object({
      mqtt: Type.Optional(
        Type.Object({
          tcp: transport({ 'basic-auth': required }),
          tls: transport({ 'basic-auth': required, 'x509-auth': required }),
          ws: transport({ 'basic-auth': required }),
        }),
      ),
    }),
  ),
})

/** The metadata keys that a device may use; absent: all of them. */
export const MetadataConfiguration = Type.Object({
  'metadata-keys': Type.Optional(
    Type.Unsafe<Record<string, { 'write-enabled'?: boolean }>>({
      type: 'object',
      propertyNames: { pattern: metadataKey, maxLength: 255 },
      additionalProperties: Type.Object({ 'write-enabled': flag('The device may also write it', false) }),
    }),
  ),
})

const keyName = (fallback: string) =>
  Type.Optional(Type.String({ pattern: metadataKey, maxLength: 128, default: fallback }))

/** Where the connectivity of an endpoint is written. */
export const ConnectivityConfiguration = Type.Object({
  connectivity: Type.Optional(
    Type.Object({
      'metadata-keys': Type.Optional(
        Type.Object({ state: keyName('connected'), 'state-ts': keyName('connectivity_ts') }),
      ),
      'time-series': Type.Optional(Type.Object({ name: Type.String({ pattern: seriesName, maxLength: 255 }) })),
    }),
  ),
})

export const configurationSchemaLengthMax = 64 * 1024

/** The schema that configurations of endpoints must follow (document 3, "Settled on a second reading"). */
export const EndpointConfiguration = Type.Object({
  endpointConfigurationSchema: Type.Optional(
    Type.String({ maxLength: configurationSchemaLengthMax, description: 'A JSON schema as text' }),
  ),
  endpointConfigurationSchemaRequired: flag('A missing schema is a 404', false),
})

export const DataCollectionConfiguration = Type.Object({
  'metadata-enrichment': Type.Optional(
    Type.Object({
      enabled: flag("Samples that are objects get the endpoint's metadata", false),
      path: Type.Optional(Type.String({ minLength: 1, maxLength: 255, default: '~ep-metadata' })),
    }),
  ),
  'relaxed-resource-path': flag('/json/<any text> and /plain/<metric> are accepted', true),
})

/** The attribute dictionary is the user's own. */
export const AttributeConfiguration = Type.Object({}, { additionalProperties: true })
