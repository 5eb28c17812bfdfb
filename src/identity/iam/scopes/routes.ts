import type { Kit } from '../../../kernel/define-service.ts'
import { type Http, scopesOf } from '../../../kernel/http/routes.ts'
import { listScopes, type Scope } from './schemas.ts'
import { levelOf, sentenceOf } from './texts.ts'

type Declared = Pick<Kit, 'scopes' | 'scopeNouns' | 'operations'>

/**
 * Registers the route that lists the scopes. The scopes and operations that services declare do not change while the process runs, so the
 * list is built only once.
 */
export function scopeRoutes(http: Http, kit: Declared) {
  let content: Scope[] | undefined
  http.get('/scopes', { schema: listScopes, config: { scope: 'authenticated' } }, () => {
    content ??= catalogueOf(kit)
    return { content }
  })
}

function catalogueOf({ scopes, scopeNouns, operations }: Declared): Scope[] {
  const byScope = new Map<string, { name: string; summary: string }[]>()
  for (const { schema, access } of operations.all())
    for (const scope of new Set([...scopesOf(access), ...(access.or ? scopesOf(access.or) : [])])) {
      const known = byScope.get(scope) ?? []
      known.push({ name: schema.name, summary: schema.summary })
      byScope.set(scope, known)
    }
  return Array.from(scopes, ([scope, holders]) => ({
    scope,
    sentence: sentenceOf(scope, scopeNouns),
    level: levelOf(scope),
    builtInRoles: [...holders],
    operations: (byScope.get(scope) ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }))
}
