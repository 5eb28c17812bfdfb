/**
 * The keys of an endpoint's metadata that belong to the platform. `connected` and `connectivity_ts` always do; where the
 * configuration of a version (instance `epl`) names others, those do too.
 */
import type { Log } from '../../../kernel/log.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { type IsReserved, isKey } from './metadata.ts'

/** Of the state and of its time. */
export type ConnectivityKeys = readonly [state: string, at: string]

export const usualKeys: ConnectivityKeys = ['connected', 'connectivity_ts']

export const reservedIn =
  (...lists: (readonly string[] | null | undefined)[]): IsReserved =>
  (key) =>
    usualKeys.includes(key) || lists.some((keys) => keys?.includes(key))

/** Undefined: the usual ones. At once where it is known. */
export type FollowKeys = (
  version: ApplicationVersionRef,
) => ConnectivityKeys | undefined | Promise<ConnectivityKeys | undefined>

export const followKeys = (log: Log, applications: Pick<Applications, 'follow'>): FollowKeys =>
  applications.follow('epl', (config, of) => {
    const [keys, problem] = keysIn(config)
    if (problem) log.warn({ ...of, problem }, 'the names of connectivity in the configuration of epl are left out')
    return keys
  })

/** What is wrong with them is refused where they are configured; what is there nevertheless must not stop anybody. */
export function keysIn(config: Record<string, unknown>): [ConnectivityKeys | undefined, problem?: string] {
  const given = partOf(partOf(config, 'connectivity'), 'metadata-keys')
  if (given === undefined) return [undefined]
  const { state = usualKeys[0], 'state-ts': at = usualKeys[1] } = given
  if (typeof state !== 'string' || typeof at !== 'string' || !isKey(state) || !isKey(at))
    return [undefined, 'state and state-ts have to be metadata keys']
  if (state === at) return [undefined, 'state and state-ts have the same name']
  return state === usualKeys[0] && at === usualKeys[1] ? [undefined] : [[state, at]]
}

function partOf(value: Record<string, unknown> | undefined, name: string): Record<string, unknown> | undefined {
  const part = value && Object.hasOwn(value, name) ? value[name] : undefined
  return typeof part === 'object' && part !== null ? (part as Record<string, unknown>) : undefined
}
