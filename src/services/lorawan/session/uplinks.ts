/** Converts uplinks to samples. Each uplink becomes one sample, and is acknowledged only when the sample is durable. */
import type { Gateway } from '../../../gateway/contract.ts'
import { createBatcher } from '../../../kernel/batcher.ts'
import { sleep } from '../../../kernel/clock.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { SandboxBusy } from '../../../sandbox/sandbox.ts'
import type { Codecs } from '../codecs.ts'
import { uplinkNotStored } from '../log-messages.ts'
import { type ClaimedUplink, claimUplinks, type UplinkKey } from '../store/uplinks.ts'
import { parseUplink, type Uplink } from '../uplink-message.ts'
import { type Device, type Devices, takeTime } from './devices.ts'
import { packetBytesMax } from './mqtt-connection.ts'
import { type Outcome, type Statistics, uplinkKey } from './statistics.ts'

export interface UplinkDeps {
  kit: Pick<Kit, 'db' | 'log' | 'now' | 'metrics' | 'stopping'>
  gateway: Pick<Gateway, 'receive'>
  codecs: Pick<Codecs, 'decode'>
  devices: Devices
  statistics: Statistics
}

/** Resolves when the uplink may be acknowledged. Never resolves if the uplink cannot be stored before the node stops. */
export type HandleUplink = (
  appIntegrationId: number,
  netDeviceId: string,
  /** Undefined if the payload is too large. */
  payload: Buffer | undefined,
) => Promise<void>

const uplinksPerStatement = 1000
const retryMs = 1000
const busyMs = 50
const dayMs = 86_400_000

export function createUplinks(deps: UplinkDeps): HandleUplink {
  const { kit, devices, statistics } = deps
  const counter = kit.metrics.counter('waypost_lorawan_uplinks_total', 'Number of LoRaWAN uplinks, by outcome.', [
    'outcome',
  ])
  const claim = createBatcher<UplinkKey & { sampleAt: Date }, ClaimedUplink>(async (uplinks) => {
    const rows = new Map((await claimUplinks(kit.db.sql, uplinks)).map((row) => [uplinkKey(row), row]))
    return uplinks.map((uplink) => rows.get(uplinkKey(uplink)))
  }, uplinksPerStatement)
  /** Uplinks that are being stored, by key. If an uplink arrives again meanwhile, the second uplink waits for the first. */
  const running = new Map<string, Promise<void>>()

  const finish = (device: Device, outcome: Outcome, error?: string) => {
    statistics.count(device.id, outcome)
    counter.inc({ outcome })
    if (error !== undefined) statistics.failed(device.id, error)
  }

  async function store(device: Device, uplink: Uplink, key: UplinkKey) {
    const receivedAt = timeFor(device, uplink, kit.now())
    const [claimed, sample] = await Promise.all([
      untilStored(deps, () => claim({ ...key, sampleAt: receivedAt })),
      sampleOf(deps, device, uplink, receivedAt),
    ])
    if (claimed?.isStored) return finish(device, 'duplicates')
    if ('error' in sample) finish(device, 'dropped', sample.error)
    else {
      const { statusCode, reasonPhrase } = await deliver(deps, device, uplink, sample.data, claimed!.sampleAt)
      if (statusCode < 300) finish(device, 'stored')
      else finish(device, 'dropped', `the sample was rejected (${statusCode}): ${reasonPhrase}`)
    }
    statistics.finished(key)
  }

  return async (appIntegrationId, netDeviceId, payload) => {
    const device = await untilStored(deps, () => devices.find(appIntegrationId, netDeviceId))
    if (!device) return counter.inc({ outcome: 'unmapped' })
    const uplink = payload ? parseUplink(payload) : { problem: `the uplink has more than ${packetBytesMax} bytes` }
    const isBroken = 'problem' in uplink
    statistics.received(device.id, new Date(isBroken ? kit.now() : plausibleTime(uplink, kit.now())))
    if (isBroken) return finish(device, 'dropped', uplink.problem)
    if (device.status === 'SUSPENDED') return finish(device, 'dropped')
    const key = { deviceIntegrationId: device.id, sessionKey: uplink.sessionKey, fCnt: uplink.fCnt }
    const text = uplinkKey(key)
    // There must be no await between this check of `running` and the new entry. Otherwise, two uplinks with the same key would be claimed
    // in one statement.
    for (let first = running.get(text); first; first = running.get(text)) await first.catch(() => {})
    if (statistics.isFinished(key)) return finish(device, 'duplicates')
    const stored = store(device, uplink, key)
    running.set(text, stored)
    await stored.finally(() => running.delete(text))
  }
}

/**
 * Returns the time of the sample: the time at which the network received the uplink, even if a later uplink was stored before. If a sample
 * of the device already has this time, returns the millisecond after the latest sample, because points with one time replace each other.
 */
const timeFor = (device: Device, uplink: Uplink, now: Date) => new Date(takeTime(device, plausibleTime(uplink, now)))

/** Returns when the network received the uplink, or the present if the network gives no time or a time more than a day ahead. */
const plausibleTime = ({ receivedAt }: Uplink, now: Date): number =>
  receivedAt === undefined || receivedAt > now.getTime() + dayMs ? now.getTime() : receivedAt

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function sampleOf(
  { codecs }: UplinkDeps,
  device: Device,
  { bytes, fPort, decoded }: Uplink,
  recvTime: Date,
): Promise<{ data: Record<string, unknown> } | { error: string }> {
  const { tenantId, formatter, decodes } = device
  if (decodes && formatter !== null && bytes !== undefined)
    for (;;)
      try {
        return await codecs.decode({ tenantId, formatter, bytes, fPort, recvTime })
      } catch (error) {
        // The queue of the sandbox is full, so the uplink waits and is tried again. The session reads no further messages meanwhile.
        if (!(error instanceof SandboxBusy)) throw error
        await sleep(busyMs)
      }
  if (isObject(decoded)) return { data: decoded }
  return {
    error:
      decoded === undefined
        ? 'the uplink has neither a payload for the formatter nor decoded_payload'
        : 'decoded_payload is not an object',
  }
}

/** Stores the sample as if the device had sent it. Retries until the platform can store it. */
function deliver(
  deps: UplinkDeps,
  device: Device,
  { fCnt, fPort }: Uplink,
  data: Record<string, unknown>,
  sampleTime: Date,
) {
  const { appIntegrationId, netDeviceId, id: deviceIntegrationId, endpoint } = device
  const payload = Buffer.from(JSON.stringify(data))
  const metadata = { transport: 'lorawan', appIntegrationId, deviceIntegrationId, netDeviceId, fCnt, fPort }
  return untilStored(deps, async () => {
    const answer = await deps.gateway.receive({
      ...{ endpoint, extension: 'dcx', resourcePath: '/json', payload, sampleTime, metadata },
    })
    if (answer.statusCode >= 500) throw new Error(answer.reasonPhrase)
    return answer
  })
}

/** Retries work that fails, for example while the database is unreachable. The broker keeps the message meanwhile. */
async function untilStored<T>({ kit }: UplinkDeps, work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work()
    } catch (error) {
      uplinkNotStored(kit.log, { err: error })
      if (kit.stopping.aborted) return await new Promise<never>(() => {})
      await sleep(retryMs)
    }
}
