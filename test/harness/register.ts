/** Fixture of the register tests: the service with identity, applications and tokens, over a real database. */
import assert from 'node:assert/strict'
import identity from '../../src/identity/index.ts'
import type { EventType } from '../../src/kernel/bus.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import applications from '../../src/services/applications/index.ts'
import * as events from '../../src/services/register/events.ts'
import register from '../../src/services/register/index.ts'
import tokens from '../../src/services/tokens/index.ts'
import { aTenantAdmin } from './builders.ts'
import { addRealms } from './realm-state.ts'
import { type Ask, openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const root = '/epr/api/v1'

export async function openRegister(options: Partial<TestPlatformOptions> = {}) {
  const services = [identity, applications, tokens, register, ...(options.services ?? [])]
  const waypost = await openTestPlatform({ ...options, services })
  await addRealms(waypost, 'platform', 'default', 'other', 'doomed')
  const admin = waypost.as(aTenantAdmin())
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every event
  const publishedEvents: { event: string; payload: any }[] = []
  for (const event of Object.values(events) as EventType<object>[])
    waypost.kit.bus.subscribe(event, (payload) => publishedEvents.push({ event: event.name, payload }))

  let count = 0
  return {
    waypost,
    admin,
    publishedEvents,
    /** Creates an application with versions; returns the application and its first version: `{ app: 'app-1', version: 'app-1-v1' }`. */
    async anApplication(ask: Ask = admin, versions = ['v1']) {
      const app = `app-${++count}-${newShortToken(4).toLowerCase()}`
      const created = await ask('POST /api/v1/applications', { name: app })
      assert.equal(created.status, 201, created.text)
      for (const nameSuffix of versions) {
        const answer = await ask(`POST /api/v1/applications/${app}/app-versions`, { nameSuffix })
        assert.equal(answer.status, 201, answer.text)
      }
      return { app, version: `${app}-${versions[0]}` }
    },
    async anEndpoint(version: string, body: object = {}, ask: Ask = admin): Promise<string> {
      const answer = await ask(`POST ${root}/endpoints`, { appVersion: { name: version }, ...body })
      assert.equal(answer.status, 201, answer.text)
      return answer.body.endpointId
    },
  }
}

export const query = (parameters: Record<string, unknown>) =>
  `?${new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  )}`

export const ids = (answer: { body: { content: { endpointId: string }[] } }) =>
  answer.body.content.map(({ endpointId }) => endpointId)
