/** Converts commands to downlinks on the node that has the session, and converts reports of the network to results of commands. */
import type { Kit } from '../../../kernel/define-service.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import type { Commands, EndpointKey, OutstandingCommand } from '../../commands/contract.ts'
import type { TrafficLog } from '../../traffic-log/contract.ts'
import type { Codecs } from '../codecs.ts'
import { downlinkFailed } from '../log-messages.ts'
import * as store from '../store/downlinks.ts'
import { findLinkedEndpoint } from '../store/uplinks.ts'
import { correlationPrefix, type DownlinkStatus, isBase64, parseReport } from '../uplink-message.ts'
import { type Device, deviceOf } from './devices.ts'
import type { Statistics } from './statistics.ts'

export interface DownlinkDeps {
  kit: Pick<Kit, 'db' | 'log' | 'now' | 'newId' | 'metrics'>
  commands: Commands
  trafficLog: Pick<TrafficLog, 'record'>
  codecs: Pick<Codecs, 'encode'>
  statistics: Statistics
}

/** The session that publishes downlinks. */
export interface Publisher {
  appIntegrationId: number
  tenantId: string
  username: string
  readonly isConnected: boolean
  publish(topic: string, payload: string): Promise<void>
}

export interface Downlinks {
  /** Publishes the outstanding commands of these endpoints that were not published yet. It does not wait for the outcome. */
  start(publisher: Publisher, endpointIds: string[]): void
  /** Publishes the outstanding commands of all devices of the integration. Called after each connect. It does not wait for the outcome. */
  startAll(publisher: Publisher): void
  /** Publishes a command with `commandTtl=0`, which is never stored for later. Resolves to false if it cannot be published now. */
  once(publisher: Publisher, endpoint: EndpointKey, command: OutstandingCommand): Promise<boolean>
  /** Handles a report of the network. Resolves when the result is durable. */
  report(publisher: Publisher, status: DownlinkStatus, payload: Buffer): Promise<void>
  settled(): Promise<void>
}

const endpointsPerPage = 500
const retryMs = 1000

export function createDownlinks(deps: DownlinkDeps): Downlinks {
  const { kit } = deps
  const counter = kit.metrics.counter('waypost_lorawan_downlinks_total', 'Number of LoRaWAN downlinks, by outcome.', [
    'outcome',
  ])
  const inOrder = createKeyedMutex().run
  const running = new Set<Promise<unknown>>()
  const track = (work: Promise<unknown>, retryLater?: () => void) => {
    const run = work
      .catch((error) => {
        downlinkFailed(kit.log, { err: error })
        if (retryLater) setTimeout(retryLater, retryMs).unref()
      })
      .finally(() => running.delete(run))
    running.add(run)
  }

  const start: Downlinks['start'] = (publisher, endpointIds) => {
    for (const endpointId of endpointIds) {
      const retry = () => publisher.isConnected && start(publisher, [endpointId])
      track(
        inOrder(endpointId, () => publishOutstanding(deps, publisher, endpointId, counter.inc.bind(counter))),
        retry,
      )
    }
  }
  const startAll: Downlinks['startAll'] = (publisher) =>
    track(startWaiting(deps, publisher, start), () => publisher.isConnected && startAll(publisher))
  return {
    start,
    startAll,
    once: (publisher, endpoint, command) =>
      inOrder(endpoint.endpointId, async () => {
        const device = await deviceFor(deps, publisher, endpoint.endpointId)
        if (!device || !publisher.isConnected) return false
        return await publishOne(deps, publisher, device, command, counter.inc.bind(counter))
      }),
    report: (publisher, status, payload) => report(deps, publisher, status, payload, counter.inc.bind(counter)),
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

type Count = (labels: { outcome: string }) => void

/** Returns the active device of an endpoint, if it belongs to this integration. */
async function deviceFor({ kit }: DownlinkDeps, { appIntegrationId }: Publisher, endpointId: string) {
  const row = await findLinkedEndpoint(kit.db.sql, endpointId)
  return row?.appIntegrationId === appIntegrationId && row.status === 'ACTIVE' ? deviceOf(row) : undefined
}

async function startWaiting(deps: DownlinkDeps, publisher: Publisher, start: Downlinks['start']) {
  const { appIntegrationId, tenantId } = publisher
  for (let after = 0; publisher.isConnected; ) {
    const page = { appIntegrationId, after, limit: endpointsPerPage }
    const endpoints = await store.findEndpointsAfter(deps.kit.db.sql, page)
    const waiting = await deps.commands.waiting(endpoints.map(({ endpointId }) => ({ tenantId, endpointId })))
    start(publisher, [...waiting])
    if (endpoints.length < endpointsPerPage) return
    after = endpoints.at(-1)!.id
  }
}

async function publishOutstanding(deps: DownlinkDeps, publisher: Publisher, endpointId: string, count: Count) {
  if (!publisher.isConnected) return
  const device = await deviceFor(deps, publisher, endpointId)
  if (!device) return
  const endpoint = { tenantId: device.tenantId, endpointId }
  const [outstanding, published] = await Promise.all([
    deps.commands.outstanding(endpoint),
    store.findPublished(deps.kit.db.sql, endpoint),
  ])
  for (const command of outstanding)
    if (!published.has(command.id)) {
      if (!publisher.isConnected) return
      await publishOne(deps, publisher, device, command, count)
    }
}

/**
 * Publishes a command. A command that cannot be encoded ends with 400. Returns false if the connection ended before the acknowledgement.
 */
async function publishOne(
  deps: DownlinkDeps,
  publisher: Publisher,
  device: Device,
  command: OutstandingCommand,
  count: Count,
): Promise<boolean> {
  const { kit, commands } = deps
  const { tenantId, endpointId, netDeviceId } = device
  const encoded = await encode(deps, device, command)
  if ('problem' in encoded) {
    deps.statistics.failed(device.id, `command ${command.id}: ${encoded.problem}`)
    count({ outcome: 'not encoded' })
    const result = { id: command.id, statusCode: 400, reasonPhrase: encoded.problem.slice(0, phraseLength) }
    await commands.results(device.endpoint, command.type, [result])
    return true
  }
  const correlationId = await store.insertDownlink(kit.db.sql, {
    correlationId: correlationPrefix + kit.newId(),
    deviceIntegrationId: device.id,
    ...{ tenantId, endpointId, commandId: command.id, commandType: command.type },
    isConfirmed: device.downlinkConfirmed,
  })
  const downlink = {
    f_port: encoded.fPort,
    confirmed: device.downlinkConfirmed,
    priority: 'NORMAL',
    correlation_ids: [correlationId],
    ...encoded.payload,
  }
  const text = JSON.stringify({ downlinks: [downlink] })
  try {
    await publisher.publish(`v3/${publisher.username}/devices/${netDeviceId}/down/push`, text)
  } catch {
    return false
  }
  await store.updatePublished(kit.db.sql, correlationId)
  count({ outcome: 'published' })
  commands.handedOver({ tenantId, endpointId }, [command])
  recordTraffic(deps, device, command, text)
  return true
}

function recordTraffic({ kit, trafficLog }: DownlinkDeps, device: Device, command: OutstandingCommand, text: string) {
  const { appIntegrationId, id: deviceIntegrationId, netDeviceId } = device
  // The write is not awaited, because the traffic log reports its own failures.
  void trafficLog.record({
    ...device.endpoint,
    correlationId: kit.newId(),
    direction: 'OUTBOUND',
    extension: 'cex',
    resourcePath: `/command/${command.type}`,
    payload: Buffer.from(text),
    additionalMetadata: { transport: 'lorawan', appIntegrationId, deviceIntegrationId, netDeviceId },
    createdAt: kit.now(),
  })
}

type Encoding = { fPort: number; payload: object } | { problem: string }

/**
 * Encodes the payload of a command. An object is encoded by the formatter of the device on the platform or, if that cannot encode, by the
 * formatter of the network. A text in base64 is sent as these bytes, any other text as UTF-8 (document 5, 9.5).
 */
async function encode({ codecs }: DownlinkDeps, device: Device, { payload }: OutstandingCommand): Promise<Encoding> {
  const value: unknown = payload === null ? undefined : JSON.parse(payload)
  const { tenantId, formatter, downlinkFPort: fPort } = device
  if (typeof value === 'string') {
    const frame = isBase64(value) ? value : Buffer.from(value).toString('base64')
    return { fPort, payload: { frm_payload: frame } }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: 'The payload of a command to a LoRaWAN device must be an object or a text' }
  if (!device.encodes || formatter === null) return { fPort, payload: { decoded_payload: value } }
  const encoded = await codecs.encode({ tenantId, formatter, data: value, fPort })
  if ('error' in encoded) return { problem: encoded.error }
  return { fPort: encoded.fPort ?? fPort, payload: { frm_payload: encoded.bytes.toString('base64') } }
}

const phraseLength = 255

/** Returns the result of a command for a report. Returns undefined for `sent` of a confirmed downlink, because `ack` or `nack` follows. */
function resultOf(status: DownlinkStatus, isConfirmed: boolean, reason: string | undefined) {
  switch (status) {
    case 'sent':
      return isConfirmed ? undefined : { statusCode: 200, reasonPhrase: 'Sent' }
    case 'ack':
      return { statusCode: 200, reasonPhrase: 'Acknowledged' }
    case 'nack':
      return { statusCode: 504, reasonPhrase: 'The device did not acknowledge the downlink' }
    case 'failed':
      return {
        statusCode: 502,
        reasonPhrase: (reason ?? 'The network could not send the downlink').slice(0, phraseLength),
      }
  }
}

async function report(
  deps: DownlinkDeps,
  { appIntegrationId }: Publisher,
  status: DownlinkStatus,
  payload: Buffer,
  count: Count,
) {
  const { correlationIds, reason } = parseReport(status, payload)
  if (correlationIds.length === 0) return
  for (const row of await store.findDownlinks(deps.kit.db.sql, appIntegrationId, correlationIds)) {
    const result = resultOf(status, row.isConfirmed, reason)
    if (!result) continue
    const { tenantId, endpointId, appName: applicationName, appVersionName: versionName } = row
    const endpoint = { tenantId, applicationName, versionName, endpointId }
    await deps.commands.results(endpoint, row.commandType, [{ id: row.commandId, ...result }])
    await store.deleteDownlink(deps.kit.db.sql, row.correlationId)
    count({ outcome: status })
    if (result.statusCode !== 200)
      deps.statistics.failed(row.deviceIntegrationId, `command ${row.commandId}: ${result.reasonPhrase}`)
  }
}
