/** Describes a backup. The manifest is the first frame of the file. */
export interface Manifest {
  createdAt: string
  /** Version of the Waypost that wrote the backup. */
  program: string
  /** PostgreSQL's `server_version`. */
  postgres: string
  migrations: { module: string; name: string; checksum: string }[]
  /** Version of the job queue's schema. It is null if no platform has ever started on the database. */
  jobsVersion: number | null
  /**
   * The key that opens the sealed values in the rows. It is stored unsealed, so that an installation with another master key can restore
   * the backup.
   */
  dataKey: string | null
  tables: TableEntry[]
  /** Partitions that services create at run time. The rows cannot be copied without them. Parents come before their partitions. */
  partitions: Partition[]
  sequences: Sequence[]
  /** True if contents of the blob store follow the tables. */
  contents?: boolean
  /** Id of the key that authenticates the file; absent in older formats. */
  keyId?: string
}

export interface TableEntry {
  schema: string
  name: string
  /** All columns except generated columns, which cannot be written. */
  columns: string[]
}

export interface Partition {
  schema: string
  name: string
  parentSchema: string
  parent: string
  bound: string
  /** The partition's own partition key, if it is partitioned itself. */
  key: string | null
}

/** The state of a sequence. The value is a string, because it may exceed JavaScript's safe integers. */
export interface Sequence {
  schema: string
  name: string
  value: string
  called: boolean
}

/** Totals of a table's rows. This frame follows the rows. */
export interface TableEnd {
  rows: number
  bytes: number
  sha256: string
}

/** A content of the blob store, as described by the row that references it. */
export interface ContentEntry {
  key: string
  size: number
  sha256: string
}

/** The size and checksum that were found in the blob store. */
export interface ContentEnd {
  bytes: number
  sha256: string
}

export interface ContentTotals {
  count: number
  bytes: number
  /** Number of contents that a row references but the blob store does not have. A restore brings back only their rows. */
  missing: number
  /** Number of contents whose bytes differ from the checksum in their row. The backup contains them as they were found. */
  damaged: number
}

export interface Totals {
  tables: number
  rows: number
  bytes: number
  contents?: ContentTotals
}

export const emptyContentTotals = (): ContentTotals => ({ count: 0, bytes: 0, missing: 0, damaged: 0 })

export function addToTotals(totals: ContentTotals, { size, sha256 }: ContentEntry, measured: ContentEnd) {
  totals.count++
  totals.bytes += measured.bytes
  if (measured.bytes !== size || measured.sha256 !== sha256) totals.damaged++
}

export const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`

export const qualifiedName = ({ schema, name }: { schema: string; name: string }) =>
  `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
