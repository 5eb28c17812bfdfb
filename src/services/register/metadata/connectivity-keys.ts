/**
 * Determines the metadata keys that are reserved for the platform: `connected` and `connectivity_ts`, or the names that the configuration
 * of a version (instance `epl`) defines instead.
 */
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { connectivityInstance, defaultKeys } from '../configuration.ts'
import type { IsReserved } from './metadata.ts'

/** The metadata keys of the connectivity state and of its time. */
export type ConnectivityKeys = readonly [state: string, at: string]

export const reservedKeys =
  (...lists: (readonly string[] | null | undefined)[]): IsReserved =>
  (key) =>
    defaultKeys.includes(key) || lists.some((keys) => keys?.includes(key))

/** Returns the configured keys, or undefined if the default keys apply. They are returned without a promise if they are cached. */
export type ConnectivityKeysOf = (
  version: ApplicationVersionRef,
) => ConnectivityKeys | undefined | Promise<ConnectivityKeys | undefined>

export const createConnectivityKeys = (applications: Pick<Applications, 'derivedConfiguration'>): ConnectivityKeysOf =>
  applications.derivedConfiguration(connectivityInstance, ({ connectivity }): ConnectivityKeys | undefined => {
    const { state = defaultKeys[0], 'state-ts': at = defaultKeys[1] } = connectivity?.['metadata-keys'] ?? {}
    return state === defaultKeys[0] && at === defaultKeys[1] ? undefined : [state, at]
  })
