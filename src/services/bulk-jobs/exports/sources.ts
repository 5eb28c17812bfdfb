/** The sources of exports. A source writes a part of the file as lines of CSV or JSON, and returns the start of the next part. */
import { setImmediate } from 'node:timers/promises'
import type { Ctx } from '../../../kernel/contract.ts'
import { csvLine } from '../../../kernel/csv.ts'
import type { EndpointConditions, ExportedEndpoint, Register } from '../../register/contract.ts'
import type { SeriesExport, SeriesExportPosition, TimeSeries } from '../../time-series/contract.ts'
import type { ExportedRecord, TrafficExport, TrafficLog } from '../../traffic-log/contract.ts'

export type ExportFormat = 'csv' | 'ndjson'

export interface ExportPartContent {
  content: AsyncIterable<Uint8Array>
  /** Returns the number of rows, without the header of a CSV file. The number is final only after the content was read completely. */
  rows(): number
  /** Returns the start of the next part; undefined after the last part. The start is known only after the content was read completely. */
  next(): object | undefined
}

/** Reads the next part with the permissions of the caller. `position` is absent for the first part. */
export type ExportSource<R extends object, P extends object> = (
  ctx: Ctx,
  request: R,
  at: { format: ExportFormat; position: P | undefined },
) => Promise<ExportPartContent>

export interface EndpointExport {
  conditions: EndpointConditions
  /** Metadata keys that get their own column in CSV. By default, all metadata is in one column. */
  metadataKeys?: string[]
}

/** A part ends when it has this many bytes (before compression). */
const partBytes = 8 * 1024 * 1024
const endpointsPerPage = 1000

interface Page<R, P> {
  rows: R[]
  next: P | undefined
}

/** Writes pages until the part is large enough. */
function partOf<R, P extends object>(
  readPage: (position: P | undefined) => Promise<Page<R, P>>,
  at: { format: ExportFormat; position: P | undefined },
  layout: { header: string[]; cellsOf(row: R): unknown[]; objectOf(row: R): object },
): ExportPartContent {
  let rows = 0
  let next = at.position
  async function* content(): AsyncGenerator<Uint8Array> {
    if (at.position === undefined && at.format === 'csv') yield Buffer.from(csvLine(layout.header))
    for (let bytes = 0; bytes < partBytes; ) {
      const page: Page<R, P> = await readPage(next)
      const lines = page.rows.map((row) =>
        at.format === 'csv' ? csvLine(layout.cellsOf(row)) : `${JSON.stringify(layout.objectOf(row))}\n`,
      )
      const text = Buffer.from(lines.join(''))
      rows += page.rows.length
      bytes += text.length
      next = page.next
      if (text.length > 0) yield text
      if (next === undefined) return
      // The pause lets other requests run between two pages.
      await setImmediate()
    }
  }
  return { content: content(), rows: () => rows, next: () => next }
}

export const endpointSource =
  (register: Pick<Register, 'exportPage'>): ExportSource<EndpointExport, { after: number }> =>
  async (ctx, { conditions, metadataKeys }, at) => {
    const readPage = async (position: { after: number } | undefined) => {
      const rows = await register.exportPage(ctx, conditions, { after: position?.after ?? 0, limit: endpointsPerPage })
      return { rows, next: rows.length < endpointsPerPage ? undefined : { after: rows.at(-1)!.number } }
    }
    const metadataOf = ({ metadata }: ExportedEndpoint, key: string) =>
      Object.hasOwn(metadata, key) ? metadata[key] : undefined
    return partOf(readPage, at, {
      header: [
        'endpointId',
        'applicationName',
        'versionName',
        'createdDate',
        'metadataUpdatedDate',
        ...(metadataKeys ?? ['metadata']),
      ],
      cellsOf: (row) => [
        row.endpointId,
        row.applicationName,
        row.versionName,
        row.createdDate,
        row.metadataUpdatedDate,
        ...(metadataKeys ? metadataKeys.map((key) => metadataOf(row, key)) : [row.metadata]),
      ],
      objectOf: ({ number: _, metadataUpdatedDate, metadata, ...row }) => ({
        ...row,
        ...(metadataUpdatedDate && { metadataUpdatedDate }),
        metadata: metadataKeys
          ? Object.fromEntries(Object.entries(metadata).filter(([key]) => metadataKeys.includes(key)))
          : metadata,
      }),
    })
  }

const recordFields = [
  'createdAt',
  'direction',
  'endpointId',
  'appVersionName',
  'extension',
  'resourcePath',
  'requestId',
  'correlationId',
  'payload',
  'additionalMetadata',
] as const satisfies (keyof ExportedRecord)[]

export const trafficSource =
  (trafficLog: Pick<TrafficLog, 'exportPage'>): ExportSource<TrafficExport, { micros: number }> =>
  async (ctx, request, at) => {
    const readPage = async (position: { micros: number } | undefined) => {
      const { records, next } = await trafficLog.exportPage(ctx, request, position?.micros)
      return { rows: records, next: next === undefined ? undefined : { micros: next } }
    }
    return partOf(readPage, at, {
      header: [...recordFields],
      cellsOf: (record) => recordFields.map((name) => record[name]),
      objectOf: (record) => Object.fromEntries(recordFields.map((name) => [name, record[name]])),
    })
  }

export const seriesSource =
  (timeSeries: Pick<TimeSeries, 'exportPart'>): ExportSource<SeriesExport, SeriesExportPosition> =>
  async (ctx, request, at) => {
    const { content, rows, next } = await timeSeries.exportPart(ctx, request, at)
    return { content, rows, next: () => next }
  }
