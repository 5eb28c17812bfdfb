/** Adds the endpoint's metadata to samples that are objects, if the application configures it (instance `dcx`). */
import type { Bus } from '../../../kernel/bus.ts'
import { createCache } from '../../../kernel/cache.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Register } from '../../register/contract.ts'
import { EndpointUnregistered, MetadataUpdated } from '../../register/events.ts'
import { dataCollectionInstance } from '../configuration.ts'

/** Returns no promise if nothing is added, which is nearly always. */
export type Enrichment = (endpoint: DeviceEndpoint, samples: unknown[]) => unknown[] | Promise<unknown[]>

interface Known {
  metadata: Record<string, unknown>
  bytes: number
  readAt: number
}

/** Metadata changes by connects on other nodes are not signalled, so the cache expires after this time. */
const maxAgeMs = 30_000

const mebibyte = 1024 * 1024
/** Limit of metadata added to one message: a million small samples must not become gigabytes. */
const addedBytesMax = 32 * mebibyte

export function createEnrichment(
  { bus, now }: Pick<Kit, 'now'> & { bus: Pick<Bus, 'subscribe' | 'onReset'> },
  register: Pick<Register, 'metadataOf'>,
  applications: Pick<Applications, 'follow'>,
): Enrichment {
  const cache = createCache<Known>({ max: 32 * mebibyte, sizeOf: ({ bytes }) => 4 * bytes, bus })
  cache.dropOn(MetadataUpdated, ({ endpointId }) => endpointId)
  cache.dropOn(EndpointUnregistered, ({ endpointIds }) => endpointIds)

  const read = (endpointId: string) =>
    cache.read(endpointId, async () => {
      const readAt = now().getTime()
      const metadata = await register.metadataOf(endpointId)
      return metadata && { metadata, bytes: Buffer.byteLength(JSON.stringify(metadata)), readAt }
    })

  async function metadataOf(endpointId: string) {
    const known = await read(endpointId)
    if (!known || now().getTime() - known.readAt < maxAgeMs) return known
    cache.drop(endpointId)
    return await read(endpointId)
  }

  const settingsOf = applications.follow(dataCollectionInstance, (config) => {
    const { enabled = false, path } = config['metadata-enrichment'] ?? {}
    return enabled ? { path: path! } : undefined
  })

  async function enriched(endpoint: DeviceEndpoint, samples: unknown[]) {
    const settings = await settingsOf(endpoint)
    if (!settings || !samples.some(isObject)) return samples
    const known = await metadataOf(endpoint.endpointId)
    if (!known) return samples
    if (known.bytes * samples.length > addedBytesMax)
      throw invalidField(
        'payload',
        `expected at most ${Math.floor(addedBytesMax / known.bytes)} samples, each of which gets the endpoint's metadata`,
      )
    return samples.map((sample) => (isObject(sample) ? { ...sample, [settings.path]: known.metadata } : sample))
  }

  return (endpoint, samples) => (settingsOf(endpoint) === undefined ? samples : enriched(endpoint, samples))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
