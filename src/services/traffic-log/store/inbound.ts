/** SQL that reads messages of devices for other services. */
import type { Sql } from '../../../kernel/db.ts'
import type { InboundMessage, InboundQuery } from '../contract.ts'

interface Row {
  createdAt: Date
  createdMicros: string
  endpointId: string
  applicationName: string
  versionName: string
  correlationId: string
  resourcePath: string
  additionalMetadata: string | null
  payload: string
}

export async function findInbound(sql: Sql, of: InboundQuery): Promise<InboundMessage[]> {
  const rows = await sql<Row[]>`
    select created_at, (extract(epoch from created_at) * 1000000)::bigint::text as created_micros, endpoint_id,
      application_name, version_name, correlation_id, resource_path, additional_metadata, payload
    from traffic_log.records
    where tenant_id = ${of.tenantId} and created_at > to_timestamp(${of.afterMicros}::bigint / 1000000.0)
      and created_at <= ${of.to} and extension = ${of.extension} and not outbound
      ${of.endpointIds === undefined ? sql`` : sql`and endpoint_id = any(${of.endpointIds}::text[])`}
    order by created_at limit ${of.limit}`
  return rows.map(({ additionalMetadata, payload, createdMicros, ...row }) => {
    const { encoding, payloadTruncated } = JSON.parse(additionalMetadata ?? '{}')
    return {
      ...row,
      micros: Number(createdMicros),
      payload: Buffer.from(payload, encoding === 'base64' ? 'base64' : 'utf8'),
      isTruncated: payloadTruncated === true,
    }
  })
}
