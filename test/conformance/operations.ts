/** The operations of the specification. Services listed in `served` take part in all conformance tests. */
import { readFileSync } from 'node:fs'

export const served = [
  'tenant-v1',
  'tenant-v2',
  'application',
  'adx',
  'identity',
  'credentials',
  'token',
  'register',
  'traffic',
  'binary',
  'timeseries',
  'configuration',
  'command',
  'software',
  'rules',
  'vpn',
  'lorawan',
  'assets',
  'ingest',
]

export interface SpecifiedOperation {
  service: string
  method: string
  path: string
  /** Scopes, `authenticated`, `none` or `X-Auth-Token`. */
  scopes: string[]
  statuses: number[]
}

const rows: SpecifiedOperation[] = readFileSync(new URL('./operations.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split('\t') as [string, string, string, string, string, string])
  .map(([service, method, path, scope, statuses]) => ({
    service,
    method,
    path,
    scopes: scope.split(' '),
    statuses: statuses.split(',').map(Number),
  }))

/** The names of all services in the specification. */
export const specifiedServices = [...new Set(rows.map(({ service }) => service))]
export const operations = rows.filter(({ service }) => served.includes(service))

interface Declared {
  tags: string[]
  security: Record<string, string[]>[]
  responses: Record<string, { content?: Record<string, unknown> }>
}

/** Returns the operations of an OpenAPI document that require credentials but are not in the specification. */
export function ownOperations(paths: Record<string, object>): SpecifiedOperation[] {
  const specified = new Set(rows.map(({ method, path }) => `${method} ${shapeOf(path)}`))
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Declared>).flatMap(([verb, { tags, security, responses }]) => {
      const method = verb.toUpperCase()
      const scopes = [...new Set(security.flatMap((entry) => Object.values(entry).flat()))]
      // Streams without a path parameter are left out: their response would not end.
      const isStream = Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content)
      if (security.length === 0 || specified.has(`${method} ${shapeOf(path)}`) || (isStream && !path.includes('{')))
        return []
      const statuses = Object.keys(responses).map(Number)
      return [{ service: tags[0]!, method, path, scopes: scopes.length > 0 ? scopes : ['authenticated'], statuses }]
    }),
  )
}

/** Returns the path without parameter names, which the specification does not prescribe. */
export const shapeOf = (path: string) => path.replace(/\{[^}]+\}/g, '{}').replace(/\/+$/, '')
