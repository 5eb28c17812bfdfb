/** Selects the samples for which an event is published when they are stored. */
import type { Bus } from '../../../kernel/bus.ts'
import { currentCause } from '../../../kernel/cause.ts'
import type { DeviceMessage } from '../../../kernel/device.ts'
import type { ReceivedMessage } from '../contract.ts'
import { SamplesReceived } from '../events.ts'

/** Returns the samples of a message if a service handles them. `sent` contains the samples before enrichment. */
export function receivedMessage(
  bus: Pick<Bus, 'isWanted'>,
  message: DeviceMessage,
  samples: unknown[],
  sent: unknown[],
): ReceivedMessage | undefined {
  if (!bus.isWanted(SamplesReceived, message.endpoint)) return undefined
  const bytes = samples === sent ? message.payload.length : Buffer.byteLength(JSON.stringify(samples))
  return { message, samples, cause: message.cause ?? currentCause(), bytes }
}
