import { contract } from '../../kernel/contract.ts'

export interface TrafficRecord {
  correlationId: string
  direction: 'INBOUND' | 'OUTBOUND'
  tenantId: string
  applicationName: string
  versionName: string
  endpointId: string
  extension: string
  /** What follows the token, without the request id. */
  resourcePath: string
  requestId?: number
  /** Copied before `record` returns. */
  payload: Buffer
  /** Such as the transport, and for an answer its `statusCode`. */
  additionalMetadata?: Record<string, unknown>
  createdAt: Date
}

/** Why a connection or a message was refused: for the administrators of the tenant, never for the peer. */
export interface Refusal {
  /** Absent while nobody can say: then the platform's administrators see it. */
  tenantId?: string
  transport: string
  address: string
  clientId?: string
  username?: string
  versionName?: string
  endpointId?: string
  /** `bad_credentials`, `token_unknown`, `packet_too_large`. */
  reason: string
  /** In words. */
  detail?: string
}

export interface TrafficLog {
  /**
   * Resolves when the record is durable: thousands of neighbours share one commit. Nobody has to wait for it: a rejection that
   * nobody hears is none, since the log says itself what it could not keep.
   */
  record(record: TrafficRecord): Promise<void>
  /** Returns at once. Many of the same kind in a short time become one with a count. */
  refuse(refusal: Refusal): void
}
export const TrafficLog = contract<TrafficLog>('traffic-log')
