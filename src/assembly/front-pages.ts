import { readFileSync } from 'node:fs'
import type { HealthReport } from '../kernel/health.ts'
import { openapi } from '../kernel/http/openapi.ts'
import type { HttpServer } from '../kernel/http/server.ts'

export const titles: Record<string, string> = {
  identity: 'Users, roles, grants, keys, clients and issuers of a tenant',
  'tenant-v1': 'Tenant manager v1',
  'tenant-v2': 'Tenant manager v2',
  application: 'Applications, versions and their configuration',
}

export const version = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version

export const apiDocument = (http: HttpServer, baseUrl: string) => openapi(http.operations, { baseUrl, version, titles })

/** What a browser finds first: the API reference and whether the platform is well. */
export function mountFrontPages(http: HttpServer, platform: { baseUrl(): string; report(): Promise<HealthReport> }) {
  let document: string | undefined
  http.app.get('/openapi.json', (_, reply) => {
    document ??= JSON.stringify(apiDocument(http, platform.baseUrl()))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
