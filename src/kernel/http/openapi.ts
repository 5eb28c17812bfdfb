/** Generates the API reference from the shapes that validate requests and serialize responses. */
import { asDeclared, isDescribedAs, mediaTypeOf, type TSchema } from '../schema.ts'
import { type Components, createComponents, type Direction, requiredFields } from './components.ts'
import { causeOf } from './failure-causes.ts'
import { exampleOf } from './operation-examples.ts'
import { effectOf } from './operation-names.ts'
import { pagingOf } from './operation-paging.ts'
import { type Operation, scopesOf } from './routes.ts'

interface DocumentInfo {
  baseUrl: string
  version: string
  /** The APIs in the order of their tags. Paths in the document start with the first root; the other roots are aliases. */
  apis: { name: string; title?: string; roots: readonly string[] }[]
}

/** Descriptions of successful responses, for shapes without a description of their own. */
const successes: Record<number, string> = {
  200: 'The request succeeded.',
  201: 'The object was created.',
  202: 'The request was accepted; the work continues in the background.',
  204: 'The request succeeded; the response has no body.',
  206: 'The part of the content that `Range` requests.',
  304: 'Not modified: the caller already has the current version. The response has no body.',
}

export function openapi(operations: Operation[], info: DocumentInfo) {
  const paths: Record<string, Record<string, unknown>> = {}
  const components = createComponents()
  for (const operation of operations) {
    const path = (operation.root + operation.path).replace(/:(\w+)/g, '{$1}')
    const item = paths[path] ?? {}
    item[operation.method.toLowerCase()] = describeOperation(operation, components)
    paths[path] = item
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waypost',
      version: info.version,
      description:
        'Every operation of the platform. Bodies are JSON; unknown fields are ignored, except by operations whose description rejects them. ' +
        'Errors are JSON with a text that says what is wrong. A parameter that takes several values accepts them separated ' +
        'by commas, as a repeated parameter, or both.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.baseUrl }],
    tags: info.apis.flatMap(({ name, title, roots: [, ...aliases] }) => {
      if (title === undefined) return []
      const alsoAt = aliases.length > 0 ? `. Also served at ${aliases.join(' and ')}` : ''
      return [{ name, description: title + alsoAt, ...(aliases.length > 0 && { 'x-also-at': aliases }) }]
    }),
    paths,
    components: {
      schemas: components.schemas(),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'An access token of the tenant, from `POST /auth/realms/{tenant_id}/protocol/openid-connect/token`.',
        },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Identity-API-Key',
          description:
            'A long-lived API key, from `POST /iam/api/v1/api-keys`. The header `x-iamcore-api-key` is accepted too.',
        },
        ...Object.fromEntries(
          operations.flatMap(({ access: { keyHeader: name } }) =>
            name === undefined
              ? []
              : [
                  [
                    name,
                    { type: 'apiKey', in: 'header', name, description: 'A short-lived upload token of an endpoint.' },
                  ],
                ],
          ),
        ),
      },
    },
  }
}

function describeOperation(operation: Operation, components: Components) {
  const { api, method, schema, access, errorFormat } = operation
  const responses = Object.entries(schema.response).map(([status, shape]) => [
    status,
    describeResponse(Number(status), shape, operation, components),
  ])
  const declared = new Set(Object.keys(schema.response).map(Number))
  const failures = failuresOf({ method, access, schema })
    .filter((status) => !declared.has(status))
    .map((status) => [
      status,
      { description: causeOf(status, operation), content: contentOf(errorFormat.schema, 'response', components) },
    ])
  const scopes = scopesOf(access)
  const alternatives = access.or ? [[access.or.scope], scopes] : [scopes]
  const paging = pagingOf(schema)
  return {
    tags: [api],
    operationId: schema.name,
    summary: schema.summary,
    ...(schema.aliasOf && { 'x-alias-of': schema.aliasOf }),
    ...(schema.description && { description: schema.description }),
    ...(paging && { 'x-paging': paging }),
    parameters: [
      ...parametersOf(schema.params, 'path', components),
      ...parametersOf(schema.query, 'query', components),
      ...parametersOf(schema.headers, 'header', components),
      ...conditionsOf(schema),
    ],
    ...(schema.body && {
      requestBody: {
        required: access.bodyOptional !== true,
        content: withExample(contentOf(schema.body, 'request', components, schema.bodyType), components),
      },
    }),
    responses: Object.fromEntries([...responses, ...failures]),
    security: securityOf(access, alternatives),
  }
}

const securityOf = ({ scope, keyHeader }: Operation['access'], alternatives: string[][]) => {
  if (keyHeader !== undefined) return [{ [keyHeader]: [] }]
  return scope === 'none' ? [] : alternatives.flatMap((names) => [{ bearer: names }, { apiKey: names }])
}

/** Returns the error statuses of an operation that are not in its `response`. They follow from the kind of the operation. */
function failuresOf({ method, access, schema }: Pick<Operation, 'method' | 'access' | 'schema'>): number[] {
  const statuses = new Set([429, 503, ...Object.keys(schema.fails ?? {}).map(Number)])
  if (access.scope !== 'none') statuses.add(401)
  if (scopesOf(access).length > 0) statuses.add(403)
  if (schema.params) statuses.add(404)
  if (schema.params || schema.query || schema.body) statuses.add(400)
  if (access.keyHeader !== undefined) statuses.add(403)
  if (schema.body) for (const status of [413, 415]) statuses.add(status)
  if (method === 'GET') statuses.delete(413)
  const isPublic = access.scope === 'none' && access.keyHeader === undefined
  if (!isPublic && !access.readOnly && effectOf({ method, schema }) === 'change') statuses.add(507)
  return [...statuses].sort()
}

const contentOf = (schema: TSchema, direction: Direction, components: Components, type = mediaTypeOf(schema)) => ({
  [type]: { schema: components.refer(schema, direction) },
})

/** Adds an example to a body whose shape declares no example. */
function withExample(content: ReturnType<typeof contentOf>, components: Components) {
  const entries = Object.entries(content).map(([type, { schema }]) => {
    if (components.resolve(schema).examples !== undefined || schema.format === 'binary') return [type, { schema }]
    return [type, { schema, example: exampleOf(schema, '', components.resolve) }]
  })
  return Object.fromEntries(entries)
}

function describeResponse(status: number, shape: TSchema, operation: Operation, components: Components) {
  const { type } = shape as { type?: string }
  const otherTypes = Object.fromEntries(
    (operation.schema.alsoAs ?? []).map((name) => [name, { schema: { type: 'string' } }]),
  )
  // A shape can have another description where it is used. That description belongs to the response; the shared schema keeps its own.
  const content = type !== 'null' && {
    content: { ...contentOf(asDeclared(shape), 'response', components), ...otherTypes },
  }
  return { description: descriptionOf(status, shape, operation), ...content }
}

function descriptionOf(status: number, shape: TSchema, operation: Operation): string {
  const { title, description } = shape as { title?: string; description?: string }
  const hasNoCause = title === (operation.errorFormat.schema as { title?: string }).title && !isDescribedAs(shape)
  if (status >= 400 && (hasNoCause || description === undefined)) return causeOf(status, operation)
  return description ?? successes[status] ?? 'The response.'
}

function parametersOf(shape: TSchema | undefined, where: 'path' | 'query' | 'header', components: Components) {
  const { properties = {} } = (shape ?? {}) as { properties?: Record<string, TSchema> }
  const required = requiredFields((shape ?? {}) as Record<string, unknown>)
  return Object.entries(properties).map(([name, schema]) => {
    const { description } = schema as { description?: string }
    const isRequired = where === 'path' || required.includes(name)
    const referred = components.refer(schema, 'request')
    return {
      name,
      in: where,
      required: isRequired,
      ...(description && { description }),
      schema: referred,
      ...(isRequired && { example: exampleOf(referred, name, components.resolve) }),
    }
  })
}

/** Returns the headers of conditional requests: `If-None-Match` for operations with 304, `If-Match` for operations with 412. */
function conditionsOf({ response, fails }: Operation['schema']) {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  })
  return [
    ...(response[304]
      ? [
          header(
            'If-None-Match',
            'ETag of the version that the caller has. While it is current, the answer is 304 without a body.',
          ),
        ]
      : []),
    ...(fails?.[412]
      ? [
          header(
            'If-Match',
            'ETag of the version that the caller has read. If it is not current, the answer is 412 and nothing changes.',
          ),
        ]
      : []),
  ]
}
