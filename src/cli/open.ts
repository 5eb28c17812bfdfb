/** Opens the console's page of an object, or the list page of a noun, in the browser. */
import { parseArgs } from 'node:util'
import { connect, tenantOf } from './api/connection.ts'
import { usageError } from './api/errors.ts'
import { visible } from './api/visible.ts'
import { openBrowser } from './open-browser.ts'
import { print } from './output.ts'

export const usage = `usage: waypost open [<noun> [<id>]] [--no-browser]

  waypost open                       the overview
  waypost open endpoints             the list of endpoints
  waypost open endpoints meter-1     one endpoint
  waypost open software meadow 1.0   an object that is named by two ids

  --no-browser      print the address only
  --context <name>  use another login
`

/** Paths of console pages by the noun of the API. Each id replaces a colon. A test compares these paths with the pages of the console. */
export const pages: Record<string, { paths: readonly string[]; realm?: 'platform' }> = {
  overview: { paths: ['/'] },
  connect: { paths: ['/connect'] },
  endpoints: { paths: ['/endpoints', '/endpoints/:'] },
  'endpoint-filters': { paths: ['/filters', '/filters/:/:'] },
  map: { paths: ['/map'] },
  assets: { paths: ['/assets', '/assets/:'] },
  jobs: { paths: ['/jobs', '/jobs/:'] },
  explore: { paths: ['/explore'] },
  commands: { paths: ['/commands'] },
  configurations: { paths: ['/configuration'] },
  software: { paths: ['/software', '/software/:/:'] },
  rules: { paths: ['/rules', '/rules/:'] },
  alerts: { paths: ['/alerts', '/alerts/:'] },
  applications: { paths: ['/applications', '/applications/:'] },
  'basic-credentials': { paths: ['/credentials'] },
  'x509-credentials': { paths: ['/credentials'] },
  lorawan: { paths: ['/lorawan'] },
  'vpn-clients': { paths: ['/vpn', '/vpn/:'] },
  users: { paths: ['/users', '/users/:'] },
  roles: { paths: ['/roles', '/roles/:'] },
  'api-keys': { paths: ['/api-keys'] },
  'audit-records': { paths: ['/audit'] },
  account: { paths: ['/account'] },
  tenants: { paths: ['/tenants', '/tenants/:'], realm: 'platform' },
  nodes: { paths: ['/platform/nodes'], realm: 'platform' },
  backups: { paths: ['/platform/backups'], realm: 'platform' },
  settings: { paths: ['/platform/settings'], realm: 'platform' },
}

const placesIn = (path: string) => path.split(':').length - 1

/** Returns the path of the page, relative to the tenant's console. */
export function pagePath(noun: string, ids: readonly string[]): { path: string; realm?: 'platform' } {
  const page = Object.hasOwn(pages, noun) ? pages[noun] : undefined
  if (!page)
    throw usageError(`the console has no page of ${visible(noun)}; it has ${Object.keys(pages).sort().join(', ')}`)
  if (ids.some((id) => id === '' || id === '.' || id === '..')) throw usageError('an id is empty, or only dots')
  const path = page.paths.find((one) => placesIn(one) === ids.length)
  if (path === undefined) {
    const numbers = page.paths.map(placesIn).join(' or ')
    throw usageError(`${noun} takes ${numbers} ids, not ${ids.length}`, usage)
  }
  const rest = [...ids]
  return {
    path: path.replaceAll(':', () => encodeURIComponent(rest.shift()!)),
    ...(page.realm && { realm: page.realm }),
  }
}

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { 'no-browser': { type: 'boolean', default: false }, context: { type: 'string' } },
  })
  const [noun = 'overview', ...ids] = positionals
  const { path, realm } = pagePath(noun, ids)
  const { client, chosen } = await connect({ context: values.context })
  const tenant = realm ?? (await tenantOf(client, chosen))
  const address = `${chosen.url.replace(/\/+$/, '')}/console/${encodeURIComponent(tenant)}${path}`
  print(address)
  if (!values['no-browser']) openBrowser(address)
  return 0
}
