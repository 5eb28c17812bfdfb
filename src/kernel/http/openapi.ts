/** Generates the API reference from the shapes that validate requests and serialize responses, so that it is always accurate. */
import { mediaTypeOf, type TSchema } from '../schema.ts'
import { type Components, createComponents, type Direction, withoutDefaults } from './components.ts'
import { type Operation, scopesOf } from './routes.ts'

interface DocumentInfo {
  baseUrl: string
  version: string
  /** The tags, in order. Paths in the document start with the first root; the other roots are aliases. */
  doors: { name: string; title?: string; roots: readonly string[] }[]
}

const reasons: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'Done, without content',
  206: 'The requested range',
  304: 'Not modified: the caller has the current version',
  400: 'The request is not valid',
  401: 'Not authenticated',
  403: 'The caller lacks the scope',
  404: 'Not found, or not visible to the caller',
  409: 'Conflicts with the current state',
  412: 'If-Match does not match the current ETag',
  413: 'The body is too large',
  415: 'The content type is not supported',
  416: 'The requested range does not exist',
  422: 'The content violates its schema',
  429: 'Too many requests',
  503: 'Temporarily unavailable; retry later',
}

export function openapi(operations: Operation[], info: DocumentInfo) {
  const paths: Record<string, Record<string, unknown>> = {}
  const components = createComponents()
  for (const operation of operations) {
    const path = (operation.root + operation.path).replace(/:(\w+)/g, '{$1}')
    const item = paths[path] ?? {}
    item[operation.method.toLowerCase()] = describe(operation, components)
    paths[path] = item
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waypost',
      version: info.version,
      description:
        'All operations of the platform. Bodies are JSON; unknown fields are ignored unless an operation says otherwise. ' +
        'Errors are JSON with a message. List parameters are separated by commas, repeated, or both.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.baseUrl }],
    tags: info.doors.flatMap(({ name, title, roots: [, ...aliases] }) => {
      if (title === undefined) return []
      const alsoAt = aliases.length > 0 ? `; also at ${aliases.join(' and ')}` : ''
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
          description: 'An access token of a tenant realm: POST /auth/realms/{tenant_id}/protocol/openid-connect/token',
        },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Identity-API-Key',
          description: 'A long-lived key: POST /iam/api/v1/api-keys. The header x-iamcore-api-key is accepted too',
        },
        ...Object.fromEntries(
          operations.flatMap(({ access: { keyHeader: name } }) =>
            name === undefined ? [] : [[name, { type: 'apiKey', in: 'header', name }]],
          ),
        ),
      },
    },
  }
}

function describe({ door, method, schema, access, face }: Operation, components: Components) {
  const success = Object.entries(schema.response).map(([status, shape]) => [
    status,
    answer(Number(status), shape, schema.alsoAs, components),
  ])
  const declared = new Set(Object.keys(schema.response).map(Number))
  const failures = failuresOf({ method, access, schema })
    .filter((status) => !declared.has(status))
    .map((status) => [
      status,
      { description: reasons[status], content: contentOf(face.schema, 'response', components) },
    ])
  const scopes = scopesOf(access)
  const alternatives = access.or ? [[access.or.scope], scopes] : [scopes]
  return {
    tags: [door],
    operationId: schema.name,
    summary: schema.summary,
    ...(schema.aliasOf && { 'x-alias-of': schema.aliasOf }),
    ...(schema.description && { description: schema.description }),
    parameters: [
      ...parametersOf(schema.params, 'path', components),
      ...parametersOf(schema.query, 'query', components),
      ...parametersOf(schema.headers, 'header', components),
      ...conditionsOf(schema),
    ],
    ...(schema.body && {
      requestBody: {
        required: access.bodyOptional !== true,
        content: contentOf(schema.body, 'request', components, schema.bodyType),
      },
    }),
    responses: Object.fromEntries([...success, ...failures]),
    security: securityOf(access, alternatives),
  }
}

const securityOf = ({ scope, keyHeader }: Operation['access'], alternatives: string[][]) => {
  if (keyHeader !== undefined) return [{ [keyHeader]: [] }]
  return scope === 'none' ? [] : alternatives.flatMap((names) => [{ bearer: names }, { apiKey: names }])
}

/** Returns the error statuses that any operation of this kind can have, and those that it declares. */
function failuresOf({ method, access, schema }: Pick<Operation, 'method' | 'access' | 'schema'>): number[] {
  const statuses = new Set([429, 503, ...(schema.fails ?? [])])
  if (access.scope !== 'none') statuses.add(401)
  if (scopesOf(access).length > 0) statuses.add(403)
  if (schema.params) statuses.add(404)
  if (schema.params || schema.query || schema.body) statuses.add(400)
  if (access.keyHeader !== undefined) statuses.add(403)
  if (schema.body) for (const status of [413, 415]) statuses.add(status)
  if (method === 'GET') statuses.delete(413)
  return [...statuses].sort()
}

const contentOf = (schema: TSchema, direction: Direction, components: Components, type = mediaTypeOf(schema)) => ({
  [type]: { schema: components.refer(schema, direction) },
})

const answer = (status: number, shape: TSchema, alsoAs: readonly string[] = [], components: Components) => {
  const { type, description } = shape as { type?: string; description?: string }
  const others = Object.fromEntries(alsoAs.map((name) => [name, { schema: { type: 'string' } }]))
  // The description is that of the response; a shape with a title keeps its own.
  const bare = description === undefined || !('title' in shape) ? shape : { ...shape, description: undefined }
  const content = type !== 'null' && { content: { ...contentOf(bare, 'response', components), ...others } }
  return { description: description ?? reasons[status] ?? 'Response', ...content }
}

function parametersOf(shape: TSchema | undefined, where: 'path' | 'query' | 'header', components: Components) {
  const { properties = {} } = (shape ?? {}) as { properties?: Record<string, TSchema> }
  const required = withoutDefaults((shape ?? {}) as Record<string, unknown>)
  return Object.entries(properties).map(([name, schema]) => {
    const { description } = schema as { description?: string }
    return {
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      ...(description && { description }),
      schema: components.refer(schema, 'request'),
    }
  })
}

/** Returns the headers of conditional requests: `If-None-Match` if 304 is possible, `If-Match` if 412 is. */
function conditionsOf({ response, fails }: Operation['schema']) {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  })
  return [
    ...(response[304] ? [header('If-None-Match', 'The ETag that the caller has; 304 if it is current')] : []),
    ...(fails?.includes(412) ? [header('If-Match', 'The ETag that the caller has; 412 if it is not current')] : []),
  ]
}
