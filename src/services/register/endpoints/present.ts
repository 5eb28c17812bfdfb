/** An endpoint as its readers see it. */
import type { Metadata } from '../metadata/metadata.ts'

interface Connectivity {
  connected?: boolean | null
  connectivityTs?: Date | null
}

/** The connectivity keys that are known. */
export function connectivityOf({ connected, connectivityTs }: Connectivity): Metadata {
  const known = connected !== null && connected !== undefined && connectivityTs
  return known ? { connected, connectivity_ts: connectivityTs.toISOString() } : {}
}

export const wholeMetadata = (row: Connectivity & { metadata: Metadata }): Metadata => ({
  ...row.metadata,
  ...connectivityOf(row),
})

/** `keys`: only these. */
function metadataText(row: Connectivity & { metadata: string }, keys: string[] | undefined): string {
  const own = Object.entries(connectivityOf(row)).filter(([key]) => !keys || keys.includes(key))
  if (own.length === 0) return row.metadata
  const added = JSON.stringify(Object.fromEntries(own)).slice(1)
  return row.metadata === '{}' ? `{${added}` : `${row.metadata.slice(0, -1)},${added}`
}

interface Presented extends Connectivity {
  endpointId: string
  applicationName: string
  versionName: string
  versionRegisteredDate: Date
  createdDate: Date
  poolIds: string[]
  /** JSON text; absent when it is not asked for. */
  metadata?: string
  metadataUpdatedDate?: Date | null
}

export function endpointText(row: Presented, filters: string[], keys?: string[]): string {
  const { metadata } = row
  const head = JSON.stringify({
    endpointId: row.endpointId,
    createdDate: row.createdDate,
    appName: row.applicationName,
    appVersion: { name: row.versionName, registeredDate: row.versionRegisteredDate },
    filters,
    poolIds: row.poolIds,
    ...(metadata !== undefined && row.metadataUpdatedDate && { metadataUpdatedDate: row.metadataUpdatedDate }),
  })
  if (metadata === undefined) return head
  return `${head.slice(0, -1)},"metadata":${metadataText({ ...row, metadata }, keys)}}`
}
