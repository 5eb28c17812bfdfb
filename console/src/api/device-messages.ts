/** Reads the status and the reason from a response to a device, and describes a refusal in a sentence. */
import type { ItemOf } from './operation-types.ts'

export type Message = ItemOf<'traffic.list'>
export type Refusal = ItemOf<'refusals.list'>

/** Returns the status of a response to a device, or undefined for other messages. */
export function statusOf({ additionalMetadata, payload, direction }: Message): number | undefined {
  if (direction !== 'OUTBOUND') return undefined
  const known = Number(additionalMetadata?.statusCode)
  if (known > 0) return known
  const code = Number(fieldOf(payload, 'statusCode'))
  return code > 0 ? code : undefined
}

/** Returns the reason for which the platform rejected a message, from its response. */
export function rejectionOf({ payload }: Message): string | undefined {
  const reason = fieldOf(payload, 'reasonPhrase')
  return typeof reason === 'string' ? reason : undefined
}

function fieldOf(payload: string, name: string): unknown {
  try {
    return (JSON.parse(payload) as Record<string, unknown> | null)?.[name]
  } catch {
    return undefined
  }
}

/**
 * Returns whether a refusal may concern this endpoint. A refusal names an endpoint only if the token of the message was valid. A refusal
 * without an endpoint may concern any device of the version.
 */
export const mayConcern = (refusal: Refusal, endpointId: string, versionName: string) =>
  refusal.endpointId === endpointId || (!refusal.endpointId && refusal.appVersionName === versionName)

/** Returns a sentence about why a message or connection was refused. */
export const refusalText = ({ reason, detail }: Refusal) =>
  [reasons[reason] ?? reason, detail].filter(Boolean).join(' ')

const reasons: Record<string, string> = {
  token_unknown: 'The token does not exist, or is not of this version. Compare it with the tokens of the endpoint.',
  token_suspended: 'The token of the device is suspended. Activate it again among the tokens of the endpoint.',
  token_revoked: 'The token of the device is revoked. Create another token, and give the new token to the device.',
  version_unknown: 'The application version in the topic does not exist.',
  tenant_not_available: 'The tenant is suspended.',
  authentication_required: 'The tenant requires client credentials, and the device has no client credentials.',
  bad_credentials: 'The user name, the password or the certificate of the device is wrong.',
  other_tenant: 'The client credentials are of another tenant than the token.',
  endpoint_gone: 'The endpoint of this token was deleted.',
  stranger_timeout: 'The device connected, but sent no message that identifies it.',
  topic_foreign: 'The device used a topic that the platform does not have.',
  topic_malformed: 'The topic is not complete.',
  too_many_messages: 'The device sends faster than the limit of its tenant.',
  too_many_guesses:
    'The address of the device sent too many wrong tokens. The platform accepts it again after a while.',
  packet_too_large: 'The message is too large.',
}
