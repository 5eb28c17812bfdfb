/** Stores whether endpoints are connected. The database has columns for this state; callers read it as metadata. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { Connectivity } from '../contract.ts'
import type { Changes } from '../endpoint-changes.ts'
import * as store from '../endpoints/store/endpoints.ts'
import { MetadataUpdated } from '../events.ts'
import type { ConnectivityKeysOf } from './connectivity-keys.ts'
import { differenceOf, visibleMetadata } from './metadata.ts'

interface Deps extends Pick<Kit, 'db' | 'bus'> {
  changes: Changes
  connectivityKeys: ConnectivityKeysOf
}

export async function setConnectivity({ db, bus, changes, connectivityKeys }: Deps, reported: Connectivity[]) {
  const newest = newestOfEach(reported)
  if (newest.size === 0) return
  const refs = await store.findRefs(db.sql, [...newest.keys()])
  const withKeys: store.ConnectivityChange[] = []
  for (const ref of refs) withKeys.push({ ...newest.get(ref.endpointId)!, keys: await connectivityKeys(ref) })
  if (withKeys.length === 0) return
  await db.tx(async (sql) => {
    const rows = await store.saveConnectivity(sql, withKeys)
    if (changes.hasListeners())
      await changes.notify(
        sql,
        rows.map((row) => ({
          ...row,
          before: { versionName: row.versionName, metadata: metadataBefore(row) },
          after: { versionName: row.versionName, metadata: visibleMetadata(row) },
        })),
      )
    // Other nodes get no signal about connects and disconnects. They read the metadata when they need it.
    await bus.publishAll(sql, MetadataUpdated, rows.flatMap(updateOf), { thisNodeOnly: true })
  })
}

function newestOfEach(reported: Connectivity[]): Map<string, Connectivity> {
  const newest = new Map<string, Connectivity>()
  // Changes are compared by number: they come from nodes whose clocks differ, so a later change can have an earlier time.
  for (const change of reported)
    if ((newest.get(change.endpointId)?.number ?? 0) <= change.number) newest.set(change.endpointId, change)
  return newest
}

const metadataBefore = ({ metadata, wasMetadata, wasConnected, wasConnectivityTs }: store.ConnectivityRow) =>
  visibleMetadata({ metadata: wasMetadata ?? metadata, connected: wasConnected, connectivityTs: wasConnectivityTs })

/** Returns a list with the payload of the event about the change. The list is empty if no key differs. */
function updateOf(row: store.ConnectivityRow) {
  const { tenantId, applicationName, versionName, endpointId } = row
  // If the metadata did not change, only the columns can differ.
  const after = row.wasMetadata ? row : { ...row, metadata: {} }
  const difference = differenceOf(metadataBefore(after), visibleMetadata(after))
  return difference ? [{ tenantId, applicationName, versionName, endpointId, ...difference }] : []
}
