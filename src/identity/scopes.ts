/**
 * Names of scopes. Some scopes have two spellings (document 3, "Words and roots" and 2.6). The database contains the canonical spelling. A
 * subject that has a scope in one spelling has it in both spellings.
 */
import { everyScope, platformSystem } from '../kernel/permissions.ts'

export const platformTenant = 'platform'

/** Matches lower-case words separated by colons, or `*` for every scope. */
export const scopePattern = '^(\\*|[a-z0-9][a-z0-9_-]*(:[a-z0-9_-]+)*)$'

const spellings: [canonical: string, other: string][] = [
  ['idp-roles-versions-mappings', 'role-version-mapping'],
  ['idp-roles-scopes-mappings', 'role-scope-mapping'],
]
const platformPrefix = 'platform:'

export function canonicalScope(scope: string): string {
  const name = scope.startsWith('kaa:') ? platformPrefix + scope.slice(4) : scope
  for (const [canonical, other] of spellings) {
    const family = `${platformPrefix}tenant:${other}:`
    if (name.startsWith(family)) return `${platformPrefix}tenant:${canonical}:${name.slice(family.length)}`
  }
  return name
}

/** Returns canonical names, sorted and without duplicates. */
export const canonicalScopes = (scopes: readonly string[]) => [...new Set(scopes.map(canonicalScope))].sort()

/** Returns both spellings of each scope, because an operation may be declared with either spelling. */
export function heldScopes(scopes: readonly string[]): Set<string> {
  const bothSpellings = new Set<string>()
  for (const scope of scopes) {
    const canonical = canonicalScope(scope)
    bothSpellings.add(canonical)
    for (const [name, other] of spellings) {
      const family = `${platformPrefix}tenant:${name}:`
      if (canonical.startsWith(family))
        bothSpellings.add(`${platformPrefix}tenant:${other}:${canonical.slice(family.length)}`)
    }
  }
  return bothSpellings
}

/** Splits the scopes of a role: `platform:…` applies to platform-system, all other scopes to tenant-system. */
export function splitScopes(scopes: readonly string[]): { scopes: string[]; platformScopes: string[] } {
  const all = canonicalScopes(scopes)
  return {
    scopes: all.filter((scope) => !scope.startsWith(platformPrefix)),
    platformScopes: all.filter((scope) => scope.startsWith(platformPrefix)),
  }
}

export const canonicalResource = (resource: string) => (resource === 'kaa-system' ? platformSystem : resource)

/** Returns true for `platform-admin`, which has every scope, even undeclared scopes (document 4, sections 2 and 3). */
export const holdsEverything = (tenantId: string, role: string) =>
  tenantId === platformTenant && role === 'platform-admin'

export const every: ReadonlySet<string> = new Set([everyScope])
