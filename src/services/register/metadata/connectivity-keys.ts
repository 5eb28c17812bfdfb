/**
 * The keys of an endpoint's metadata that belong to the platform. `connected` and `connectivity_ts` always do; where the
 * configuration of a version (instance `epl`) names others, those do too.
 */
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { connectivityInstance, usualKeys } from '../configuration.ts'
import type { IsReserved } from './metadata.ts'

/** Of the state and of its time. */
export type ConnectivityKeys = readonly [state: string, at: string]

export const reservedIn =
  (...lists: (readonly string[] | null | undefined)[]): IsReserved =>
  (key) =>
    usualKeys.includes(key) || lists.some((keys) => keys?.includes(key))

/** Undefined: the usual ones. At once where it is known. */
export type FollowKeys = (
  version: ApplicationVersionRef,
) => ConnectivityKeys | undefined | Promise<ConnectivityKeys | undefined>

export const followKeys = (applications: Pick<Applications, 'follow'>): FollowKeys =>
  applications.follow(connectivityInstance, ({ connectivity }): ConnectivityKeys | undefined => {
    const { state = usualKeys[0], 'state-ts': at = usualKeys[1] } = connectivity?.['metadata-keys'] ?? {}
    return state === usualKeys[0] && at === usualKeys[1] ? undefined : [state, at]
  })
