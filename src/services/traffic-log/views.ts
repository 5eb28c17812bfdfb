/** Converts records and refusals to the form that the API returns. */
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
    payload: payloadText(record),
    ...(record.metadata !== undefined && { additionalMetadata: JSON.parse(record.metadata) }),
    createdAt: new Date(record.micros / 1000),
  }
}

/**
 * Returns a record as the JSON text of its view. Live streams need this text for each message of a watched endpoint. `JSON.stringify` of
 * the view takes twice the time, because it copies the record and parses its metadata.
 */
export function textOf(tenantId: string, record: StoredRecord, payload = payloadText(record)): string {
  const { correlationId, outbound, versionName, endpointId, extension, resourcePath, requestId, metadata } = record
  const quoted = JSON.stringify
  return (
    `{"correlationId":${quoted(correlationId)},"direction":"${outbound ? 'OUTBOUND' : 'INBOUND'}","tenantId":${quoted(tenantId)},` +
    `"appVersionName":${quoted(versionName)},"endpointId":${quoted(endpointId)},"extension":${quoted(extension)},` +
    `"resourcePath":${quoted(resourcePath)},${requestId === undefined ? '' : `"requestId":${requestId},`}"payload":${quoted(payload)},` +
    `${metadata === undefined ? '' : `"additionalMetadata":${metadata},`}"createdAt":"${new Date(record.micros / 1000).toISOString()}"}`
  )
}

export const payloadText = ({ payload, isText }: StoredRecord): string => payload.toString(isText ? 'utf8' : 'base64')

export const refusalView = ({ versionName: appVersionName, ...row }: RefusalRow) =>
  Object.fromEntries(
    Object.entries({ ...row, appVersionName, tenantId: row.tenantId || null }).filter(([, value]) => value !== null),
  )
