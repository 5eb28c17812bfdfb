import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Fragment, Sql } from '../../kernel/db.ts'

export interface TrafficRecord {
  correlationId: string
  direction: 'INBOUND' | 'OUTBOUND'
  tenantId: string
  applicationName: string
  versionName: string
  endpointId: string
  extension: string
  /** The part of the topic after the token, without the request id. */
  resourcePath: string
  requestId?: number
  /** The payload. It is copied before `record` returns. */
  payload: Buffer
  /** Size of the payload as it was sent, if `payload` is shorter. */
  payloadBytes?: number
  /** Further data, for example the transport, or the `statusCode` of a response. */
  additionalMetadata?: Record<string, unknown>
  createdAt: Date
}

/** A refused connection or rejected message. Administrators of the tenant can read it. The device never gets the reason. */
export interface Refusal {
  /** Absent if the tenant is unknown. Then administrators of the platform can read the refusal. */
  tenantId?: string
  transport: string
  address: string
  clientId?: string
  username?: string
  versionName?: string
  endpointId?: string
  /** A code such as `bad_credentials`, `token_unknown` or `packet_too_large`. */
  reason: string
  /** The reason as text for administrators. */
  detail?: string
}

export interface InboundQuery {
  tenantId: string
  extension: string
  endpointIds?: string[] | undefined
  /** Only messages after this time are returned. Microseconds since 1970. */
  afterMicros: number
  to: Date
  /** Number of messages; a result is longer if more messages have the time of its last message. */
  limit: number
}

/** A message of a device as it was recorded. */
export interface InboundMessage {
  createdAt: Date
  /** `createdAt` in microseconds since 1970, for the next page. */
  micros: number
  endpointId: string
  applicationName: string
  versionName: string
  correlationId: string
  resourcePath: string
  payload: Buffer
  /** True if only the beginning of the payload was kept. */
  isTruncated: boolean
}

/** Conditions of exported records. A record must meet all conditions. */
export interface TrafficExport {
  endpointIds?: string[]
  appVersionName?: string
  extension?: string
  resourcePath?: string
  payload?: string
  /** Milliseconds since 1970: includes `from`, excludes `to`. */
  from: number
  to: number
}

export interface ExportedRecord {
  createdAt: Date
  correlationId: string
  direction: 'INBOUND' | 'OUTBOUND'
  appVersionName: string
  endpointId: string
  extension: string
  resourcePath: string
  requestId?: number
  /** The payload as text, or as base64 if `additionalMetadata.encoding` is set. */
  payload: string
  additionalMetadata?: Record<string, unknown>
}

export interface TrafficLog {
  /**
   * Returns a page of the records that the caller may read, oldest first. `position` is `next` of the previous page, in microseconds since
   * 1970, and undefined for the first page. `next` is undefined on the last page.
   */
  exportPage(
    ctx: Ctx,
    selection: TrafficExport,
    position: number | undefined,
  ): Promise<{ records: ExportedRecord[]; next: number | undefined }>
  /** Returns recorded messages of devices, oldest first. */
  inbound(query: InboundQuery): Promise<InboundMessage[]>
  /** Resolves when the record is durable. Callers may ignore the promise: the traffic log reports failed writes itself. */
  record(record: TrafficRecord): Promise<void>
  /** Enqueues a refusal and returns immediately. Refusals of the same kind within a second become one row with a count. */
  recordRefusal(refusal: Refusal): void
  /**
   * Returns SQL for a statement in another service: `from (${…}) as t`. It selects the numbers of messages and bytes for each hour,
   * application version and direction. Columns: since, application_name, version_name, outbound, messages, bytes.
   */
  statistics(sql: Sql, tenantId: string): Fragment
}
export const TrafficLog = contract<TrafficLog>('traffic-log')
