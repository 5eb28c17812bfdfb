/**
 * Exports are jobs that write a file in parts. Each part is a content of the blob store. The row of the part, the position of the next
 * part and the progress of the task are committed together. After a crash, an export therefore continues without losing or repeating a
 * line.
 */
import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { Identity } from '../../../identity/contract.ts'
import type { ByteRange } from '../../../kernel/blobs/blobs.ts'
import { creatorOf, type DonePart, defineWalk, type Task, type WalkType } from '../../../kernel/bulk/types.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import type { ServiceContents } from '../../binary-data/contract.ts'
import type { SeriesExport } from '../../time-series/contract.ts'
import type { TrafficExport } from '../../traffic-log/contract.ts'
import { requireReadable } from '../access.ts'
import { openJobsMax } from '../create.ts'
import { ExportNotFinished, NoAccount, NoExportFile, NotOwnFile, TooManyJobs } from '../errors.ts'
import * as store from '../store.ts'
import type { EndpointExport, ExportFormat, ExportPartContent, ExportSource } from './sources.ts'

export interface ExportData<R extends object = object> {
  format: ExportFormat
  gzip: boolean
  request: R
  applicationName?: string
}

const keepDays = 7
/** Number of days for which a file is kept. Files expire before their jobs are deleted. */
const fileDays = 3
const dayMs = 86_400_000

const declare = <R extends object>(name: string, title: string): WalkType<ExportData<R>> =>
  defineWalk(name, { title, keepDays, parallel: 1 })
export const ExportEndpoints = declare<EndpointExport>('jobs.export-endpoints', 'Export endpoints')
export const ExportSeries = declare<SeriesExport>('jobs.export-series', 'Export time series')
export const ExportTraffic = declare<TrafficExport>('jobs.export-traffic', 'Export traffic')
export const exportTypes = [ExportEndpoints, ExportSeries, ExportTraffic]

export interface ExportDeps {
  kit: Pick<Kit, 'db' | 'bulk' | 'now' | 'system'>
  identity: Pick<Identity, 'callerNow'>
  contents: ServiceContents
}

export interface ExportFile {
  name: string
  size: number
  expiresDate: Date
}

export function handleExports<R extends object, P extends object>(
  deps: ExportDeps,
  type: WalkType<ExportData<R>>,
  source: ExportSource<R, P>,
) {
  deps.kit.bulk.handleParts(type, {
    async part(task, { done, save }) {
      const row = await store.findExport(deps.kit.db.sql, task.taskId)
      if (!row) return { canceled: 'the file of the export has expired' }
      const caller = await deps.identity.callerNow(task.tenantId, task.createdBy)
      if (!caller) return { canceled: 'the account that created the export has no access any more' }
      const ctx = { ...deps.kit.system(task.tenantId), caller }
      const { format, request } = task.data
      const position = (row.position as P | null) ?? undefined
      try {
        await writePart(deps, task, done, await source(ctx, request, { format, position }), save)
        return undefined
      } catch (error) {
        // The permissions of the creator are checked for each part. If a permission is missing, the export ends.
        if (error instanceof PlatformError && [401, 403, 404].includes(error.status)) return { canceled: error.message }
        throw error
      }
    },
  })
}

async function writePart(
  { kit, contents }: ExportDeps,
  { taskId, tenantId, data }: Task<ExportData>,
  part: number,
  written: ExportPartContent,
  save: (sql: Sql, part: DonePart) => Promise<void>,
) {
  const reading = guarded(written.content)
  // Each part is a member of the gzip file. A gzip file may consist of several members (RFC 1952, 2.2).
  const content = data.gzip ? pipeline(Readable.from(reading.content), createGzip(), () => {}) : reading.content
  try {
    await contents.write({ tenantId, service: 'jobs', content }, async (sql, { contentKey, size, checksum }) => {
      const position = written.next() ?? null
      await save(sql, { count: written.rows(), isLast: position === null })
      const at = kit.now()
      const finished = position === null ? { at, expiresAt: new Date(at.getTime() + fileDays * dayMs) } : undefined
      await store.insertPart(sql, taskId, { part, contentKey, size, checksum }, { position, finished })
    })
  } catch (error) {
    throw reading.failure() ?? error
  }
}

/** Passes a content on and records the error of its source. `writePart` throws this error, because the blob store reports it as its own. */
function guarded(content: AsyncIterable<Uint8Array>) {
  let failure: unknown
  async function* passed() {
    try {
      yield* content
    } catch (error) {
      failure = error
      throw error
    }
  }
  return { content: passed(), failure: () => failure }
}

/** Creates an export job and returns its id. */
export async function createExport<R extends object>(
  { kit, identity }: ExportDeps,
  ctx: Ctx,
  type: WalkType<ExportData<R>>,
  data: ExportData<R>,
  name: string,
): Promise<string> {
  const { tenantId, caller } = ctx
  if (!(await identity.callerNow(tenantId, caller.subject))) throw NoAccount()
  const at = kit.now()
  const moment = at.toISOString().slice(0, 19).replaceAll(':', '-')
  const fileName = `${name}-${moment}Z.${data.format}${data.gzip ? '.gz' : ''}`
  return await kit.db.tx(async (sql) => {
    if ((await kit.bulk.count(sql, { tenantId, states: ['prepared', 'waiting', 'running'] })) >= openJobsMax)
      throw TooManyJobs({ limit: openJobsMax })
    const taskId = await kit.bulk.startWalk(sql, type, { tenantId, createdBy: creatorOf(caller), data })
    const expiresAt = new Date(at.getTime() + keepDays * dayMs)
    await store.insertExport(sql, { taskId, tenantId, fileName, expiresAt })
    return taskId
  })
}

/** Returns the file of a finished export. Returns undefined if the export has no file or the file has expired. */
export async function fileOf({ kit }: ExportDeps, taskId: string): Promise<ExportFile | undefined> {
  const row = await store.findExport(kit.db.sql, taskId)
  if (!row?.finishedAt || row.expiresAt <= kit.now()) return undefined
  return { name: row.fileName, size: row.size, expiresDate: row.expiresAt }
}

type Choose = (item: {
  name: string
  size: number
  checksum: string
  updatedDate: Date
  isComposed: true
}) => ByteRange | undefined

/** Opens the file. Only the caller that created the export may do so, because the data was read with the permissions of that caller. */
export async function openFile(deps: ExportDeps, ctx: Ctx, jobId: string, choose: Choose) {
  const { db, bulk, now } = deps.kit
  const task = requireReadable(ctx, jobId, await bulk.findAny(db.sql, jobId))
  const row = await store.findExport(db.sql, jobId)
  if (!row || row.expiresAt <= now()) throw NoExportFile({ jobId })
  if (task.createdBy.id !== ctx.caller.subject.id || task.createdBy.type !== ctx.caller.subject.type)
    throw NotOwnFile({ jobId })
  if (!row.finishedAt) throw ExportNotFinished({ jobId, state: task.state })
  const parts = await store.findParts(db.sql, jobId)
  const checksum = createHash('sha256')
    .update(parts.map((part) => part.checksum).join())
    .digest('hex')
  const item = { name: row.fileName, size: row.size, checksum, updatedDate: row.finishedAt, isComposed: true as const }
  const range = choose(item)
  const content = range && Readable.from(bytesOf(deps.contents, parts, range, jobId), { objectMode: false })
  return { item, content }
}

/** Reads a range that may extend over several parts. Only one content is open at a time. */
async function* bytesOf(
  contents: ServiceContents,
  parts: store.ExportPart[],
  { first, last }: ByteRange,
  jobId: string,
) {
  let start = 0
  for (const { contentKey, size } of parts) {
    const [from, to] = [Math.max(first - start, 0), Math.min(last - start, size - 1)]
    start += size
    if (size === 0 || from > to) continue
    const content = await contents.read(contentKey, { first: from, last: to })
    if (!content) throw NoExportFile({ jobId })
    yield* content
  }
}

const exportsPerDeletion = 20

/** Deletes the exports whose files have expired, and releases the contents of the files. */
export async function deleteExpired({ kit, contents }: ExportDeps) {
  for (let found = exportsPerDeletion; found === exportsPerDeletion; )
    found = await kit.db.tx(async (sql) => {
      const expired = await store.deleteExpired(sql, kit.now(), exportsPerDeletion)
      for (const { tenantId, contentKeys } of expired)
        if (contentKeys.length > 0) await contents.release(sql, tenantId, contentKeys)
      return expired.length
    })
}
