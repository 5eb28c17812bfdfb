/** Generates bad requests from the declared schemas: for each field, every kind of wrong value. */

export interface Shape {
  type?: string | string[]
  properties?: Record<string, Shape>
  required?: string[]
  additionalProperties?: boolean | Shape
  items?: Shape
  enum?: unknown[]
  const?: unknown
  anyOf?: Shape[]
  oneOf?: Shape[]
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  minItems?: number
  default?: unknown
}

const texts = [
  'sample',
  'application-sample',
  'a',
  'A1',
  'aaaaaaaaaa',
  'sample@example.org',
  'http://sample.example',
  '2026-01-01T00:00:00Z',
  'default',
  '1',
]

/** Returns a value that the schema accepts. */
export function sampleOf(shape: Shape): unknown {
  if (shape.const !== undefined) return shape.const
  if (shape.enum) return shape.enum[0]
  const alternatives = shape.anyOf ?? shape.oneOf
  if (alternatives && !shape.properties) return sampleOf(alternatives[0]!)
  switch ([shape.type].flat()[0]) {
    case 'object':
      // An object can have alternatives, each with further required fields. The sample uses the first alternative.
      return Object.fromEntries(
        [...(shape.required ?? []), ...(alternatives?.[0]?.required ?? [])].map((name) => [
          name,
          sampleOf(shape.properties?.[name] ?? {}),
        ]),
      )
    case 'array':
      return Array.from({ length: shape.minItems ?? 0 }, () => sampleOf(shape.items ?? {}))
    case 'integer':
    case 'number':
      return Math.max(shape.minimum ?? 1, 1)
    case 'boolean':
      return true
    case 'string':
      return textOf(shape)
    default:
      return {}
  }
}

function textOf({ minLength = 0, maxLength = 1000, pattern, format }: Shape): string {
  const byFormat: Record<string, string> = {
    email: 'sample@example.org',
    uri: 'http://sample.example',
    'date-time': '2026-01-01T00:00:00Z',
    uuid: '00000000-0000-4000-8000-000000000000',
  }
  if (format && byFormat[format]) return byFormat[format]
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text))
  const found = [...texts, 'x'.repeat(Math.max(1, minLength))].find(fits)
  if (found === undefined) throw new Error(`no sample text for ${pattern}`)
  return found
}

export interface BadValue {
  why: string
  /** Path of the wrong field with dots, such as `a.b`, or `body`. */
  field: string
  body: unknown
}

/** Returns bodies that differ from a valid body in exactly one field. */
export function badBodies(shape: Shape): BadValue[] {
  if ([shape.type].flat()[0] !== 'object' || !shape.properties) return []
  const good = sampleOf(shape) as Record<string, unknown>
  const cases: BadValue[] = [
    { why: 'a list instead of an object', field: 'body', body: [] },
    { why: 'null instead of an object', field: 'body', body: null },
  ]
  const visit = (current: Shape, path: string[]) => {
    for (const [name, field] of Object.entries(current.properties ?? {})) {
      const fieldPath = [...path, name]
      const withValue = (value: unknown) => withField(good, fieldPath, value)
      if (current.required?.includes(name))
        cases.push({ why: 'missing', field: fieldPath.join('.'), body: withValue(undefined) })
      for (const [why, value] of badValues(field))
        cases.push({ why, field: fieldPath.join('.'), body: withValue(value) })
      if (field.properties) visit(field, fieldPath)
    }
  }
  visit(shape, [])
  return cases
}

function badValues(field: Shape): [string, unknown][] {
  const types = [field.type].flat().filter(Boolean)
  const alternatives = field.anyOf ?? field.oneOf
  if (alternatives || (types.length === 0 && !field.enum)) return []
  const bad: [string, unknown][] = []
  if (!types.includes('null')) bad.push(['null', null])
  if (field.enum)
    return [...bad, ['a value that the enum does not contain', 'no-such-word'], ['a wrong type', { odd: true }]]
  if (types[0] === 'string') {
    bad.push(['a number', 7], ['an object', {}])
    if (field.maxLength !== undefined && field.maxLength < 200_000)
      bad.push(['too long', 'x'.repeat(field.maxLength + 1)])
    if ((field.minLength ?? 0) > 0) bad.push(['empty', ''])
    const outside = ['\u00e9 /+#', '\u0007'].find((text) => field.pattern && !new RegExp(field.pattern, 'u').test(text))
    if (outside) bad.push(['a text outside the pattern', outside])
    if (field.format) bad.push(['a text that is not in the declared format', 'no such thing'])
  } else if (types[0] === 'integer' || types[0] === 'number') {
    bad.push(['a text', '7x'])
    if (types[0] === 'integer') bad.push(['a fraction', 1.5], ['beyond every integer', 1e300])
    if (field.maximum !== undefined) bad.push(['too large', field.maximum + 1])
    if (field.minimum !== undefined) bad.push(['too small', field.minimum - 1])
  } else bad.push(['a wrong type', types[0] === 'boolean' ? 'maybe' : 7])
  return bad
}

function withField(good: Record<string, unknown>, path: string[], value: unknown): Record<string, unknown> {
  const [name, ...rest] = path as [string, ...string[]]
  const copy = { ...good }
  if (rest.length > 0) copy[name] = withField((copy[name] ?? {}) as Record<string, unknown>, rest, value)
  else if (value === undefined) delete copy[name]
  else copy[name] = value
  return copy
}

const largeBodies = new Map<number, Uint8Array>()

/** Returns a JSON body of about this size. The body is created once for all operations: separate bodies would take 200 MB of memory. */
function bodyOfBytes(bytes: number): Uint8Array {
  const body = largeBodies.get(bytes) ?? Buffer.from(`{"a":"${'x'.repeat(bytes)}"}`)
  largeBodies.set(bytes, body)
  return body
}

/** Returns bodies that are invalid for every schema. */
export const badTexts = (
  good: string,
  bytesTooMany = 1_100_000,
): { why: string; payload: string | Uint8Array; type: string; statuses: number[] }[] => {
  const json = 'application/json'
  return [
    { why: 'malformed JSON', payload: good.slice(0, -1), type: json, statuses: [400] },
    { why: 'nothing', payload: '', type: json, statuses: [400] },
    {
      why: 'invalid UTF-8',
      payload: new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      type: json,
      statuses: [400],
    },
    { why: 'deep nesting', payload: `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, type: json, statuses: [400] },
    { why: '__proto__', payload: `{"__proto__":{"admin":true},${good.slice(1)}`, type: json, statuses: [400] },
    { why: 'a megabyte more than the limit', payload: bodyOfBytes(bytesTooMany), type: json, statuses: [413] },
    { why: 'a wrong content type', payload: good, type: 'text/plain', statuses: [415] },
    { why: 'XML', payload: '<a/>', type: 'application/xml', statuses: [415] },
  ]
}
