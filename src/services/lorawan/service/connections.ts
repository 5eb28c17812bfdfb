/** Handles the connection from an integration to its network: checks, defaults and the sealed key. */
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { parseHost, parseMqttUrl } from '../hosts.ts'
import type { ConnectionFields, IntegrationRow } from '../store/app-integrations.ts'
import type { NetworkAccess } from './network-api.ts'

export interface NewConnection {
  netUsername: string
  netApiKeyId: string
  netIdentityServerHost: string
  netNetworkServerHost?: string
  netJoinServerHost?: string
  netApplicationServerHost?: string
  netPlainMqttServerUrl?: string
  netMqttIntegrationEnabled?: boolean
  name: string
  description?: string
  poolIds?: string[]
}

export interface IntegrationPatch {
  netApiKeyId?: string
  name?: string
  description?: string
}

const hostFields = [
  'netIdentityServerHost',
  'netNetworkServerHost',
  'netJoinServerHost',
  'netApplicationServerHost',
] as const

/**
 * Checks the fields of a new integration and returns its columns. Account integrations do not use MQTT (`usesMqtt`): their MQTT URL is
 * required only if the caller enables MQTT explicitly, not by default.
 */
export function connectionOf(
  { secrets, platform }: Kit,
  connection: NewConnection,
  { usesMqtt }: { usesMqtt: boolean },
): ConnectionFields {
  const allowed = { allowPrivate: platform.allowPrivateAddresses }
  let identityServer = ''
  for (const field of hostFields) {
    const host = connection[field]
    if (host === undefined) continue
    const parsed = parseHost(host, allowed)
    if ('problem' in parsed) throw invalidField(field, parsed.problem)
    if (field === 'netIdentityServerHost') identityServer = parsed.origin
  }
  const { netPlainMqttServerUrl: mqttUrl = null, netMqttIntegrationEnabled: isEnabled = true } = connection
  const requiresUrl = usesMqtt ? isEnabled : connection.netMqttIntegrationEnabled === true
  if (requiresUrl && mqttUrl === null)
    throw invalidField('netPlainMqttServerUrl', 'is required while netMqttIntegrationEnabled is true')
  const parsed = mqttUrl === null ? undefined : parseMqttUrl(mqttUrl, allowed)
  if (parsed && 'problem' in parsed) throw invalidField('netPlainMqttServerUrl', parsed.problem)
  return {
    netUsername: connection.netUsername,
    netApiKey: secrets.seal(connection.netApiKeyId),
    netIdentityServerHost: connection.netIdentityServerHost,
    netIdentityServerKey: identityServer,
    netNetworkServerHost: connection.netNetworkServerHost ?? null,
    netJoinServerHost: connection.netJoinServerHost ?? null,
    netApplicationServerHost: connection.netApplicationServerHost ?? null,
    netPlainMqttServerUrl: mqttUrl,
    netMqttIntegrationEnabled: isEnabled,
    name: connection.name,
    description: connection.description ?? null,
    poolIds: connection.poolIds ?? [],
  }
}

export const patchedColumns = ({ secrets }: Kit, row: IntegrationRow, patch: IntegrationPatch) => ({
  name: patch.name ?? row.name,
  description: patch.description ?? row.description,
  netApiKey: patch.netApiKeyId === undefined ? row.netApiKey : secrets.seal(patch.netApiKeyId),
})

export const accessOf = (
  { secrets, platform }: Kit,
  row: Pick<IntegrationRow, 'netIdentityServerKey' | 'netApiKey'>,
  signal?: AbortSignal,
): NetworkAccess => ({
  origin: row.netIdentityServerKey,
  key: secrets.open(row.netApiKey),
  allowPrivate: platform.allowPrivateAddresses,
  signal,
})

/** Removes fields that are null, so that they are absent in responses. */
export const withoutNulls = <T extends object>(row: T) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [K in keyof T as null extends T[K] ? never : K]: T[K]
  } & { [K in keyof T as null extends T[K] ? K : never]?: Exclude<T[K], null> }

export const connectionView = (row: IntegrationRow) =>
  withoutNulls({
    id: row.id,
    netUsername: row.netUsername,
    netIdentityServerHost: row.netIdentityServerHost,
    netNetworkServerHost: row.netNetworkServerHost,
    netJoinServerHost: row.netJoinServerHost,
    netApplicationServerHost: row.netApplicationServerHost,
    netPlainMqttServerUrl: row.netPlainMqttServerUrl,
    netMqttIntegrationEnabled: row.netMqttIntegrationEnabled,
    name: row.name,
    description: row.description,
    poolIds: row.poolIds,
    status: row.status,
  })
