/** What a backup says about itself before its rows. */
export interface Manifest {
  createdAt: string
  /** The Waypost that wrote it. */
  program: string
  /** As `server_version`. */
  postgres: string
  migrations: { module: string; name: string; checksum: string }[]
  /** The version of the job queue's own schema; null where no platform has ever started. */
  jobsVersion: number | null
  /** Opens what is sealed in the rows; not sealed itself, so that the backup can move to another master key. */
  dataKey: string | null
  tables: TableEntry[]
  /** Partitions that services make as they go: rows need them before they come. Parents first. */
  partitions: Partition[]
  sequences: Sequence[]
  /** Contents of the blob store follow the tables. */
  contents?: boolean
  /** Names the key that the file is authenticated with; absent in older formats. */
  keyId?: string
}

export interface TableEntry {
  schema: string
  name: string
  /** Without generated ones, which cannot be written. */
  columns: string[]
}

export interface Partition {
  schema: string
  name: string
  parentSchema: string
  parent: string
  bound: string
  /** Where it is partitioned itself. */
  key: string | null
}

/** The value as text: it may be beyond what a JavaScript number holds. */
export interface Sequence {
  schema: string
  name: string
  value: string
  called: boolean
}

/** What stands behind the rows of a table. */
export interface TableEnd {
  rows: number
  bytes: number
  sha256: string
}

/** A content of the blob store, as the row that names it describes it. */
export interface ContentEntry {
  key: string
  size: number
  sha256: string
}

/** What was found in the blob store. */
export interface ContentEnd {
  bytes: number
  sha256: string
}

export interface ContentTotals {
  count: number
  bytes: number
  /** Named by a row, but not in the blob store: their rows come back without them. */
  missing: number
  /** Other bytes than their rows say; they are in the backup as they were found. */
  damaged: number
}

export interface Totals {
  tables: number
  rows: number
  bytes: number
  contents?: ContentTotals
}

export const noContents = (): ContentTotals => ({ count: 0, bytes: 0, missing: 0, damaged: 0 })

export function countContent(totals: ContentTotals, { size, sha256 }: ContentEntry, found: ContentEnd) {
  totals.count++
  totals.bytes += found.bytes
  if (found.bytes !== size || found.sha256 !== sha256) totals.damaged++
}

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

export const nameOf = ({ schema, name }: { schema: string; name: string }) => `${quoted(schema)}.${quoted(name)}`
