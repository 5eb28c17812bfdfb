/** Handles messages that reach the platform through another network instead of a connection of the device. */
import type { Kit } from '../kernel/define-service.ts'
import type { DeviceMessage } from '../kernel/device.ts'
import { StorageLowForDevices } from '../kernel/errors.ts'
import type { Register } from '../services/register/contract.ts'
import type { TrafficLog } from '../services/traffic-log/contract.ts'
import type { CarriedMessage, Gateway } from './contract.ts'
import { createCorrelationIds, describeError } from './dispatch.ts'
import { DeviceUnknown, ExtensionUnknown } from './errors.ts'
import type { Identify } from './identify.ts'
import { deviceMessageFailed } from './log-messages.ts'
import type { Tenants } from './tenants.ts'

export function createReceiveCarried(
  kit: Pick<Kit, 'now' | 'log' | 'newId' | 'diskSpace'>,
  deps: {
    identify: Pick<Identify, 'extensionOf'>
    tenants: Tenants
    trafficLog: Pick<TrafficLog, 'record'>
    register: Pick<Register, 'noteActivity'>
  },
): Gateway['receive'] {
  const newCorrelationId = createCorrelationIds(kit.newId)

  async function receive({ endpoint, extension: name, metadata, ...given }: CarriedMessage) {
    const tenant = await deps.tenants.get(endpoint.tenantId)
    if (!tenant?.available) throw DeviceUnknown()
    const extension = await deps.identify.extensionOf(endpoint, name)
    if (!extension) throw ExtensionUnknown({ extension: name })
    if (kit.diskSpace.isLow && !extension.unrecorded) throw StorageLowForDevices()
    const receivedAt = kit.now()
    deps.register.noteActivity(endpoint.endpointId, receivedAt)
    const message: DeviceMessage = {
      endpoint,
      extension: name,
      ...given,
      receivedAt,
      correlationId: newCorrelationId(),
    }
    const { correlationId, resourcePath, payload } = message
    const recorded = deps.trafficLog.record({
      ...endpoint,
      ...{ correlationId, direction: 'INBOUND', extension: name, resourcePath, payload },
      additionalMetadata: metadata,
      createdAt: receivedAt,
    })
    // Both results are awaited, even if one of the calls fails.
    const [received, stored] = await Promise.allSettled([Promise.try(() => extension.receive(message)), recorded])
    for (const outcome of [received, stored]) if (outcome.status === 'rejected') throw outcome.reason
    return { statusCode: 200 }
  }

  return (message) =>
    receive(message).catch((error) => {
      const described = describeError(error)
      if (described.statusCode >= 500) deviceMessageFailed(kit.log, { err: error, extension: message.extension })
      return described
    })
}
