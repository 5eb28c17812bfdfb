/** Creates exports of endpoints, time series and traffic, and opens their files. */
import type { Identity } from '../../../identity/contract.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { timeOf, timeText } from '../../../kernel/times.ts'
import type { BinaryData } from '../../binary-data/contract.ts'
import type { Register } from '../../register/contract.ts'
import type { SeriesExportRequest, TimeSeries } from '../../time-series/contract.ts'
import type { TrafficExport, TrafficLog } from '../../traffic-log/contract.ts'
import { conditionsOf, type JobRequest } from '../create.ts'
import {
  createExport,
  deleteExpired,
  ExportEndpoints,
  type ExportFile,
  ExportSeries,
  ExportTraffic,
  fileOf,
  handleExports,
  openFile,
} from './exports.ts'
import { type ExportFormat, endpointSource, seriesSource, trafficSource } from './sources.ts'

export interface FileFormat {
  format: ExportFormat
  gzip?: boolean
}

export interface ExportOperations {
  /**
   * Creates a job that exports endpoints, and returns the id of the job. `exportSeries` and `exportTraffic` also return the id of their
   * job.
   */
  exportEndpoints(
    ctx: Ctx,
    request: FileFormat & { select: JobRequest['select']; metadataKeys?: string[] },
  ): Promise<string>
  exportSeries(ctx: Ctx, request: FileFormat & SeriesExportRequest): Promise<string>
  exportTraffic(
    ctx: Ctx,
    request: FileFormat &
      Omit<TrafficExport, 'from' | 'to'> & { fromCreatedAt?: string | number; toCreatedAt?: string | number },
  ): Promise<string>
  fileOf(jobId: string): Promise<ExportFile | undefined>
  open(ctx: Ctx, jobId: string, choose: Parameters<typeof openFile>[3]): ReturnType<typeof openFile>
  deleteExpired(): Promise<void>
}

interface Services {
  identity: Identity
  register: Register
  timeSeries: TimeSeries
  trafficLog: TrafficLog
  binaryData: BinaryData
}

export function createExports(kit: Kit, services: Services): ExportOperations {
  const { identity, register, timeSeries, trafficLog, binaryData } = services
  const deps = { kit, identity, contents: binaryData.contents }
  handleExports(deps, ExportEndpoints, endpointSource(register))
  handleExports(deps, ExportSeries, seriesSource(timeSeries))
  handleExports(deps, ExportTraffic, trafficSource(trafficLog))
  return {
    async exportEndpoints(ctx, { format, gzip = false, select, metadataKeys }) {
      const conditions = conditionsOf(select, kit.now())
      // One endpoint is read, so that the caller gets the error for an invalid condition.
      await register.exportPage(ctx, conditions, { after: 0, limit: 1 })
      const request = { conditions, ...(metadataKeys && { metadataKeys }) }
      const { applicationName } = conditions
      const data = { format, gzip, request, ...(typeof applicationName === 'string' && { applicationName }) }
      return await createExport(deps, ctx, ExportEndpoints, data, 'endpoints')
    },
    async exportSeries(ctx, { format, gzip = false, ...series }) {
      const request = await timeSeries.checkExport(ctx, series)
      const { applicationName } = request
      return await createExport(deps, ctx, ExportSeries, { format, gzip, request, applicationName }, 'time-series')
    },
    async exportTraffic(ctx, { format, gzip = false, fromCreatedAt, toCreatedAt, ...conditions }) {
      const now = kit.now()
      const from = timeOfField('fromCreatedAt', fromCreatedAt, now) ?? 0
      const to = Math.min((timeOfField('toCreatedAt', toCreatedAt, now) ?? now.getTime()) + 1, now.getTime() + 1)
      if (to <= from) throw invalidField('toCreatedAt', 'expected a time that is not before fromCreatedAt')
      const data = { format, gzip, request: { ...conditions, from, to } }
      return await createExport(deps, ctx, ExportTraffic, data, 'traffic')
    },
    fileOf: (jobId) => fileOf(deps, jobId),
    open: (ctx, jobId, choose) => openFile(deps, ctx, jobId, choose),
    deleteExpired: () => deleteExpired(deps),
  }
}

function timeOfField(field: string, given: string | number | undefined, now: Date): number | undefined {
  if (given === undefined) return undefined
  const time = timeOf(given, now)
  if (time === undefined) throw invalidField(field, `expected ${timeText}`)
  return Math.max(0, time)
}
