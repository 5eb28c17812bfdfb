/** Adds the endpoint's metadata to samples that are objects, if the configuration of the application enables it (instance `dcx`). */
import type { Bus } from '../../../kernel/bus.ts'
import { createCache } from '../../../kernel/cache.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Applications } from '../../applications/contract.ts'
import type { Register } from '../../register/contract.ts'
import { EndpointUnregistered, MetadataUpdated } from '../../register/events.ts'
import { dataCollectionInstance } from '../configuration.ts'

/** Adds metadata to samples. If enrichment is known to be off, returns the given array, without a promise. */
export type Enrichment = (endpoint: DeviceEndpoint, samples: unknown[]) => unknown[] | Promise<unknown[]>

interface CachedMetadata {
  metadata: Record<string, unknown>
  bytes: number
  readAt: number
}

/** A connect changes metadata, and other nodes do not signal this change, so cached metadata expires after this time. */
const maxAgeMs = 30_000

const mebibyte = 1024 * 1024
/** Maximum size of the metadata that is added to all samples of one message together. */
const addedBytesMax = 32 * mebibyte

export function createEnrichment(
  { bus, now }: Pick<Kit, 'now'> & { bus: Pick<Bus, 'subscribe' | 'onReset'> },
  register: Pick<Register, 'metadataOf'>,
  applications: Pick<Applications, 'derivedConfiguration'>,
): Enrichment {
  const cache = createCache<CachedMetadata>({ max: 32 * mebibyte, sizeOf: ({ bytes }) => 4 * bytes, bus })
  cache.dropOn(MetadataUpdated, ({ endpointId }) => endpointId)
  cache.dropOn(EndpointUnregistered, ({ endpointIds }) => endpointIds)

  const read = (endpointId: string) =>
    cache.read(endpointId, async () => {
      const readAt = now().getTime()
      const metadata = await register.metadataOf(endpointId)
      return metadata && { metadata, bytes: Buffer.byteLength(JSON.stringify(metadata)), readAt }
    })

  async function metadataOf(endpointId: string) {
    const cached = await read(endpointId)
    if (!cached || now().getTime() - cached.readAt < maxAgeMs) return cached
    cache.drop(endpointId)
    return await read(endpointId)
  }

  const settingsOf = applications.derivedConfiguration(dataCollectionInstance, (config) => {
    const { enabled = false, path } = config['metadata-enrichment'] ?? {}
    return enabled ? { path: path! } : undefined
  })

  async function addMetadata(endpoint: DeviceEndpoint, samples: unknown[]) {
    const settings = await settingsOf(endpoint)
    if (!settings || !samples.some(isObject)) return samples
    const cached = await metadataOf(endpoint.endpointId)
    if (!cached) return samples
    if (cached.bytes * samples.length > addedBytesMax)
      throw invalidField(
        'payload',
        `expected at most ${Math.floor(addedBytesMax / cached.bytes)} samples, each of which gets the endpoint's metadata`,
      )
    return samples.map((sample) => (isObject(sample) ? { ...sample, [settings.path]: cached.metadata } : sample))
  }

  return (endpoint, samples) => (settingsOf(endpoint) === undefined ? samples : addMetadata(endpoint, samples))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
