/** Builds messages of devices and passes them to an extension, without a connection. */
import assert from 'node:assert/strict'
import type { DeviceEndpoint, DeviceMessage, Extension } from '../../src/kernel/device.ts'
import { PlatformError } from '../../src/kernel/errors.ts'

export const aDeviceEndpoint = (endpoint: Partial<DeviceEndpoint> = {}): DeviceEndpoint => ({
  tenantId: 'default',
  applicationName: 'app',
  versionName: 'app-v1',
  endpointId: 'ep-1',
  ...endpoint,
})

export type AMessage = Partial<Omit<DeviceMessage, 'payload'>> & { payload?: unknown }

/** Returns a device message. A payload that is neither text nor bytes is encoded as JSON. */
export function aMessage({ payload = '', ...message }: AMessage = {}): DeviceMessage {
  const bytes = Buffer.isBuffer(payload)
    ? payload
    : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
  return {
    endpoint: aDeviceEndpoint(),
    extension: 'ext',
    resourcePath: '',
    receivedAt: new Date('2026-01-02T03:04:05.678Z'),
    correlationId: 'c-1',
    ...message,
    payload: bytes,
  }
}

/** Returns a function that sends messages to the extension: `send('/get', { keys: [] }, { requestId: 5 })`. */
export const sendTo =
  (extension: Extension, from: DeviceEndpoint = aDeviceEndpoint()) =>
  async (resourcePath: string, payload: unknown = '', message: Omit<AMessage, 'payload' | 'resourcePath'> = {}) =>
    extension.receive(aMessage({ endpoint: from, extension: extension.name, resourcePath, payload, ...message }))

/** Asserts that the promise rejects with a PlatformError of this status, and returns the error. */
export async function rejectsWith(work: Promise<unknown>, status: number): Promise<PlatformError> {
  const outcome = await work.then(
    (value) => assert.fail(`expected a ${status}, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (!(outcome instanceof PlatformError)) throw outcome
  assert.equal(outcome.status, status, outcome.message)
  return outcome
}
