/** Creates examples of parameters and bodies for the API reference, for shapes that declare no example. */
type Shape = Record<string, unknown> & {
  type?: string | string[]
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  anyOf?: Shape[]
  enum?: unknown[]
  examples?: unknown[]
  minimum?: number
  minLength?: number
  minItems?: number
  pattern?: string
}

/** Example values by the name of a field or parameter. The first value that the shape allows is used. */
const valuesByName: Record<string, unknown[]> = {
  appName: ['greenhouse'],
  applicationName: ['greenhouse'],
  applicationNames: ['greenhouse'],
  appVersionName: ['greenhouse-v1'],
  applicationVersionName: ['greenhouse-v1'],
  endpointId: ['thermo-1'],
  endpointIds: [['thermo-1']],
  tenantId: ['default'],
  tenantID: ['default'],
  tenant_id: ['default'],
  tenant_pk: ['default'],
  username: ['ada'],
  email: ['ada@example.com'],
  firstName: ['Ada'],
  lastName: ['Lovelace'],
  first_name: ['Ada'],
  last_name: ['Lovelace'],
  name: ['greenhouse', 'GREENHOUSE'],
  displayName: ['Greenhouse'],
  description: ['Beds 1 to 4'],
  timeSeriesName: ['auto~temperature'],
  commandType: ['reboot'],
  extension: ['dcx'],
  resource: ['json'],
  filename: ['photo.jpg'],
  softwareVersion: ['1.2.0'],
  serviceInstanceName: ['epts'],
  grant_type: ['client_credentials'],
  client_id: ['backend'],
  redirect_uri: ['https://app.example.com/'],
  status: ['ACTIVE', 'active'],
  interval: ['1h'],
  scopes: [['endpoint:read']],
  scope: ['endpoint:read', ['endpoint:read']],
  role: ['viewer'],
  roles: [['viewer']],
  subject: [],
  issuer: ['https://login.example.com/'],
  audience: ['waypost'],
  password: ['correct-horse-battery-staple'],
  realm_name: ['greenhouse'],
  redirectUris: [['https://app.example.com/*']],
  url: ['https://example.com/'],
  host: ['example.com'],
  port: [443],
}

/** Texts that match the common patterns. */
const texts = ['example', 'EXAMPLE', '1', '0000000000000001', 'a@example.com', '2026-01-02T03:04:05Z', 'a-1', '*', '1d']

/** Returns the example that a shape declares, or a value that its type, pattern and limits allow. `resolve` follows references. */
export function exampleOf(shape: unknown, name: string, resolve: (shape: Shape) => Shape): unknown {
  const schema = resolve(shape as Shape)
  if (schema.examples && schema.examples.length > 0) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  const known = (valuesByName[name] ?? []).find((value) => allows(schema, value))
  if (known !== undefined) return known
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf && !schema.properties) return exampleOf(schema.anyOf[0], name, resolve)
  const type = [schema.type].flat()[0]
  if (type === 'object') return objectExample(schema, resolve)
  if (type === 'array')
    return [exampleOf(schema.items ?? {}, name.replace(/s$/, ''), resolve)].slice(0, Math.max(1, schema.minItems ?? 1))
  if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1)
  if (type === 'boolean') return true
  if (type === 'null') return null
  if (type === 'string') return textExample(schema)
  return {}
}

/** Returns an object with the required fields. If no field is required, the object has the first field. */
function objectExample(schema: Shape, resolve: (shape: Shape) => Shape) {
  const { properties = {}, anyOf = [] } = schema
  const required = [...(schema.required ?? []), ...(anyOf[0]?.required ?? [])]
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {}, name, resolve)]))
}

function textExample(schema: Shape) {
  if (schema.format === 'date-time') return '2026-01-02T03:04:05Z'
  if (schema.format === 'uri') return 'https://example.com/'
  const found = texts.find((text) => allows(schema, text))
  return found ?? texts[0]
}

function allows(
  { type, pattern, enum: choices, minLength = 0, maxLength, format, anyOf }: Shape,
  value: unknown,
): boolean {
  if (anyOf) return anyOf.some((shape) => allows(shape, value))
  if (choices) return choices.includes(value)
  if (Array.isArray(value)) return type === 'array'
  if (typeof value === 'number') return type === 'integer' || type === 'number'
  if (typeof value !== 'string' || (type !== undefined && ![type].flat().includes('string'))) return false
  if (value.length < minLength || value.length > ((maxLength as number | undefined) ?? value.length)) return false
  if (format === 'email' && !value.includes('@')) return false
  if (format === 'uri' && !value.includes('://')) return false
  return pattern === undefined || new RegExp(pattern, 'u').test(value)
}
