/** Fixture for the credentials tests: the service over a real database. */
import assert from 'node:assert/strict'
import type { EventType } from '../../src/kernel/bus.ts'
import { Credentials } from '../../src/services/credentials/contract.ts'
import * as events from '../../src/services/credentials/events.ts'
import credentials from '../../src/services/credentials/index.ts'
import { aTenantAdmin } from './builders.ts'
import { type Ask, openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const root = '/api/v1'
export const services = [credentials]

export async function openCredentials(options: Partial<TestPlatformOptions> = {}) {
  const waypost = await openTestPlatform({ ...options, services })
  const admin = waypost.as(aTenantAdmin())
  const publishedEvents: { event: string; payload: Record<string, unknown> }[] = []
  for (const event of Object.values(events) as EventType<Record<string, unknown>>[])
    waypost.kit.bus.subscribe(event, (payload) => publishedEvents.push({ event: event.name, payload }))

  const createIn = (collection: string) => async (body: object, ask: Ask) => {
    const answer = await ask(`POST ${root}/${collection}`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  const createBasicCredential = createIn('basic-credentials')
  const createCertificate = createIn('x509-credentials')
  const api = waypost.ask(Credentials)
  return {
    waypost,
    admin,
    api,
    publishedEvents,
    aBasicCredential: (body: object = {}, ask: Ask = admin) => createBasicCredential(body, ask),
    aCertificate: (body: object = {}, ask: Ask = admin) => createCertificate(body, ask),
    async setState(collection: 'basic-credentials' | 'x509-credentials', id: string, state: string, status = 204) {
      const answer = await admin(`PATCH ${root}/${collection}/${id}/state`, { state })
      assert.equal(answer.status, status, answer.text)
      return answer
    },
    /** Verifies a username and password, as the gateway does when a client connects. Without `tenantId`, the tenant is `default`. */
    logIn: (
      { username, password }: { username: string; password: string },
      { tenantId = 'default', address = '192.0.2.1' } = {},
    ) => api.verifyBasic({ tenantId, username, password, address }),
  }
}
