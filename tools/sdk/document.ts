/** Reads the API document for the generator of the SDK. */

export interface ApiDocument {
  paths: Record<string, Record<string, unknown>>
  components: { schemas: Record<string, unknown> }
}

export interface Shape {
  $ref?: string
  type?: string | string[]
  title?: string
  description?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  anyOf?: Shape[]
  oneOf?: Shape[]
  allOf?: Shape[]
  items?: Shape
  prefixItems?: Shape[]
  properties?: Record<string, Shape>
  patternProperties?: Record<string, Shape>
  additionalProperties?: boolean | Shape
  required?: string[]
  examples?: unknown[]
  'x-segments'?: boolean
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Shape
  example?: unknown
}

export interface Paging {
  style: 'offset' | 'page' | 'cursor' | 'none'
  in?: 'query' | 'body'
  parameters?: [position: string, size?: string]
  first?: number
  size?: number
  max?: number
  items: string
  total?: string
  next?: string
}

type Content = Record<string, { schema: Shape; example?: unknown }>

export interface OperationShape {
  name: string
  method: string
  path: string
  tag: string
  summary: string
  description: string | undefined
  aliasOf: string | undefined
  /** Parameters, except the headers of conditional requests, which are options of every call. */
  parameters: Parameter[]
  body: { type: string; required: boolean; schema: Shape; example: unknown } | undefined
  /** Successful responses by status; undefined for a response without a body. */
  answers: Record<string, { type: string; schema: Shape } | undefined>
  /** Statuses of all documented responses, successful and failed. */
  statuses: number[]
  paging: Paging | undefined
  scopes: string[]
  /** True if the operation is called without credentials. */
  open: boolean
  /** True if the operation only reads, although its method may be POST. */
  reads: boolean
  conditions: ('ifMatch' | 'ifNoneMatch')[]
  resolve(shape: Shape): Shape
}

interface Described {
  tags: [string]
  operationId: string
  summary: string
  description?: string
  'x-alias-of'?: string
  'x-paging'?: Paging
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { content?: Content }>
  security: Record<string, string[]>[]
}

/** Verbs of operations that change nothing; see src/kernel/http/operation-names.ts. */
const readingVerbs = new Set(['search', 'preview', 'validate', 'introspect'])

const conditionNames: Record<string, 'ifMatch' | 'ifNoneMatch'> = {
  'if-match': 'ifMatch',
  'if-none-match': 'ifNoneMatch',
}

export function operationsOf(document: ApiDocument): OperationShape[] {
  const shapes = document.components.schemas as Record<string, Shape>
  const resolve = (shape: Shape): Shape => (shape.$ref ? shapes[shape.$ref.split('/').pop()!]! : shape)
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, value]) => operationOf(method.toUpperCase(), path, value as Described, resolve)),
  )
}

function operationOf(
  method: string,
  path: string,
  described: Described,
  resolve: OperationShape['resolve'],
): OperationShape {
  const { operationId: name, parameters, requestBody, responses, security } = described
  const conditions = parameters.flatMap((one) =>
    one.in === 'header' ? conditionNames[one.name.toLowerCase()] : [],
  ) as ('ifMatch' | 'ifNoneMatch')[]
  const isCondition = (one: Parameter) => one.in === 'header' && conditionNames[one.name.toLowerCase()] !== undefined
  const [bodyType, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const [first = {}] = security
  const keys = Object.keys(first).filter((scheme) => scheme !== 'bearer' && scheme !== 'apiKey')
  const statuses = Object.keys(responses).map(Number)
  const isSuccess = (status: string) => Number(status) < 300
  const successes = Object.keys(responses).some(isSuccess)
    ? Object.entries(responses).filter(([status]) => isSuccess(status))
    : Object.entries(responses).filter(([status]) => Number(status) < 400)
  return {
    name,
    method,
    path: segmentsIn(path, parameters),
    tag: described.tags[0],
    summary: described.summary,
    description: described.description,
    aliasOf: described['x-alias-of'],
    parameters: [...parameters.filter((one) => !isCondition(one)), ...keys.map(keyParameter)],
    body: body && {
      type: bodyType!,
      required: requestBody!.required,
      schema: body.schema,
      example: body.example ?? resolve(body.schema).examples?.[0],
    },
    answers: Object.fromEntries(successes.map(([status, { content = {} }]) => [status, contentOf(content)])),
    statuses,
    paging: described['x-paging'],
    scopes: first.bearer ?? [],
    open: security.length === 0 || keys.length > 0,
    reads: readingVerbs.has(name.slice(name.lastIndexOf('.') + 1)),
    conditions: [...new Set(conditions)],
    resolve,
  }
}

/** Writes `{+name}` for a parameter whose slashes separate segments. */
const segmentsIn = (path: string, parameters: Parameter[]) =>
  parameters
    .filter(({ schema }) => schema['x-segments'])
    .reduce((text, { name }) => text.replace(`{${name}}`, `{+${name}}`), path)

function contentOf(content: Content) {
  const [type, value] = Object.entries(content)[0] ?? []
  return value && { type: type!, schema: value.schema }
}

const keyParameter = (name: string): Parameter => ({
  name,
  in: 'header',
  required: true,
  description: 'The token that permits this request.',
  schema: { type: 'string' },
})
