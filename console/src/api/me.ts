/** The caller and what it may do. The platform checks every request itself; pages only avoid offering what it would refuse. */
import type { BodyOf } from './operation-types.ts'
import { useGet } from './query.ts'

export type Me = BodyOf<'me.get'>

export const useMe = () => useGet('me.get', {}, { refreshMs: 60_000 })

const holds = (scopes: readonly string[], scope: string) => scopes.includes('*') || scopes.includes(scope)

/** Returns whether the caller holds the scope on some resource. */
export const maySomewhere = (me: Me | undefined, scope: string) =>
  me?.permissions.some(({ scopes }) => holds(scopes, scope)) ?? false

/**
 * Returns a function that says whether the caller holds a scope: without resources, on any resource; otherwise on the
 * tenant or on one of these resources.
 */
export function useMay(): (scope: string, ...resources: string[]) => boolean {
  const { data: me } = useMe()
  return (scope, ...resources) => {
    if (resources.length === 0) return maySomewhere(me, scope)
    const above = ['platform-system', 'tenant-system', ...resources]
    return me?.permissions.some(({ resource, scopes }) => above.includes(resource) && holds(scopes, scope)) ?? false
  }
}
