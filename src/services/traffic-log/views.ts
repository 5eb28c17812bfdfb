/** Records and refusals as the API shows them. */
import type { StoredRecord } from './codec/columns.ts'
import type { RefusalRow } from './store/refusals.ts'

export interface RecordView {
  correlationId: string
  direction: 'INBOUND' | 'OUTBOUND'
  tenantId: string
  appVersionName: string
  endpointId: string
  extension: string
  resourcePath: string
  requestId?: number
  payload: string
  additionalMetadata?: Record<string, unknown>
  createdAt: Date
}

export function viewOf(tenantId: string, record: StoredRecord): RecordView {
  return {
    correlationId: record.correlationId,
    direction: record.outbound ? 'OUTBOUND' : 'INBOUND',
    tenantId,
    appVersionName: record.versionName,
    endpointId: record.endpointId,
    extension: record.extension,
    resourcePath: record.resourcePath,
    ...(record.requestId !== undefined && { requestId: record.requestId }),
    payload: record.payload.toString(record.isText ? 'utf8' : 'base64'),
    ...(record.metadata !== undefined && { additionalMetadata: JSON.parse(record.metadata) }),
    createdAt: new Date(record.micros / 1000),
  }
}

export const refusalView = ({ versionName: appVersionName, ...row }: RefusalRow) =>
  Object.fromEntries(
    Object.entries({ ...row, appVersionName, tenantId: row.tenantId || null }).filter(([, value]) => value !== null),
  )
