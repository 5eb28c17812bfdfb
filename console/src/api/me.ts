/**
 * The caller and its permissions. The platform checks every request itself; pages only avoid offering actions that the platform would
 * reject.
 */
import { createContext, use } from 'react'
import type { BodyOf } from './operation-types.ts'
import { useGet } from './query.ts'

export type Me = BodyOf<'me.get'>

export const useMe = () => useGet('me.get', {}, { refreshMs: 60_000 })

/**
 * Permissions that the page continues to use while it has unsaved input, although the caller has lost some of them. If this value is
 * undefined, the page uses the current permissions.
 */
export const MeDuringEdit = createContext<Me | undefined>(undefined)

/** Returns whether the caller has lost a permission between `before` and `now`. */
export const isReduced = (before: Me, now: Me) =>
  before.permissions.some(({ resource, scopes }) => {
    const left = now.permissions.filter((one) => one.resource === resource).flatMap((one) => one.scopes)
    return scopes.some((scope) => !holds(left, scope))
  })

const holds = (scopes: readonly string[], scope: string) => scopes.includes('*') || scopes.includes(scope)

/** Returns whether the caller holds the scope on some resource. */
export const maySomewhere = (me: Me | undefined, scope: string) =>
  me?.permissions.some(({ scopes }) => holds(scopes, scope)) ?? false

/**
 * Returns a function that returns whether the caller holds a scope. If the function is called without resources, the scope may be on any
 * resource; otherwise it must be on one of these resources, the tenant or the platform.
 */
export function useMay(): (scope: string, ...resources: string[]) => boolean {
  const { data: present } = useMe()
  const me = use(MeDuringEdit) ?? present
  return (scope, ...resources) => {
    if (resources.length === 0) return maySomewhere(me, scope)
    const above = ['platform-system', 'tenant-system', ...resources]
    return me?.permissions.some(({ resource, scopes }) => above.includes(resource) && holds(scopes, scope)) ?? false
  }
}
