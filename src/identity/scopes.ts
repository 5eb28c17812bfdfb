/**
 * The names of scopes. Several spellings are in circulation (document 3, "Words and roots" and 2.6); one of each is
 * kept in the database, and who holds one holds its other spelling too.
 */
import { everyScope, platformSystem } from '../kernel/permissions.ts'

export const platformTenant = 'platform'

/** Words and digits in parts; or every scope, for those who hold every scope. */
export const scopePattern = '^(\\*|[a-z0-9][a-z0-9_-]*(:[a-z0-9_-]+)*)$'

const entities: [canonical: string, other: string][] = [
  ['idp-roles-versions-mappings', 'role-version-mapping'],
  ['idp-roles-scopes-mappings', 'role-scope-mapping'],
]
const platformPrefix = 'platform:'

export function canonicalScope(scope: string): string {
  const name = scope.startsWith('kaa:') ? platformPrefix + scope.slice(4) : scope
  for (const [canonical, other] of entities) {
    const family = `${platformPrefix}tenant:${other}:`
    if (name.startsWith(family)) return `${platformPrefix}tenant:${canonical}:${name.slice(family.length)}`
  }
  return name
}

/** Sorted, each once. */
export const canonicalScopes = (scopes: readonly string[]) => [...new Set(scopes.map(canonicalScope))].sort()

/** Both spellings of what is held: an operation may be declared with either. */
export function heldScopes(scopes: readonly string[]): Set<string> {
  const held = new Set<string>()
  for (const scope of scopes) {
    const canonical = canonicalScope(scope)
    held.add(canonical)
    for (const [name, other] of entities) {
      const family = `${platformPrefix}tenant:${name}:`
      if (canonical.startsWith(family)) held.add(`${platformPrefix}tenant:${other}:${canonical.slice(family.length)}`)
    }
  }
  return held
}

/** Where the scopes of a role are held: those of the platform on platform-system, all others on tenant-system. */
export function splitScopes(scopes: readonly string[]): { scopes: string[]; platformScopes: string[] } {
  const all = canonicalScopes(scopes)
  return {
    scopes: all.filter((scope) => !scope.startsWith(platformPrefix)),
    platformScopes: all.filter((scope) => scope.startsWith(platformPrefix)),
  }
}

export const canonicalResource = (resource: string) => (resource === 'kaa-system' ? platformSystem : resource)

/** Everything on the platform, also what no table of scopes names yet (document 4, sections 2 and 3). */
export const holdsEverything = (tenantId: string, role: string) =>
  tenantId === platformTenant && role === 'platform-admin'

export const every: ReadonlySet<string> = new Set([everyScope])
