/** Fixture of the tokens tests: the service and the services that it needs, over a real database. */
import assert from 'node:assert/strict'
import { Identity } from '../../src/identity/contract.ts'
import identity from '../../src/identity/index.ts'
import type { EventType } from '../../src/kernel/bus.ts'
import applications from '../../src/services/applications/index.ts'
import { Tokens } from '../../src/services/tokens/contract.ts'
import * as events from '../../src/services/tokens/events.ts'
import tokens from '../../src/services/tokens/index.ts'
import type { TokenStatus } from '../../src/services/tokens/states.ts'
import { aTenantAdmin } from './builders.ts'
import { aRealm } from './realms.ts'
import { type Ask, openTestPlatform, type TestPlatform, type TestPlatformOptions } from './test-platform.ts'

export const root = '/api/v1'
export const services = [identity, applications, tokens]

export async function openTokens(options: Partial<TestPlatformOptions> = {}) {
  const waypost = await openTestPlatform({ ...options, services })
  const realms = waypost.ask(Identity)
  for (const tenantId of ['default', 'other'])
    await waypost.kit.db.tx(async (sql) => {
      await realms.buildRealm(sql, aRealm(tenantId))
      await realms.setRealmStatus(sql, tenantId, 'AVAILABLE')
    })
  return tokenFixtures(waypost)
}

export function tokenFixtures(waypost: TestPlatform) {
  const { db, bus, newId } = waypost.kit
  const admin = waypost.as(aTenantAdmin())
  const api = waypost.ask(Tokens)
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every event
  const publishedEvents: { event: string; payload: any }[] = []
  for (const event of Object.values(events) as EventType<object>[])
    bus.subscribe(event, (payload) => publishedEvents.push({ event: event.name, payload }))

  let count = 0
  const provision = async (endpointId: string, body: object, ask: Ask = admin) => {
    const answer = await ask(`POST ${root}/endpoints/${endpointId}/tokens`, body)
    assert.equal(answer.status, 201, answer.text)
    const endpointTokenId = answer.headers.location!.split('/').at(-1)!
    return { ...answer.body, endpointTokenId, url: `${root}/endpoints/${endpointId}/tokens/${endpointTokenId}` }
  }
  return {
    waypost,
    admin,
    api,
    publishedEvents,
    provision,
    async anApplication(ask: Ask = admin) {
      const app = `app-${++count}`
      for (const [url, body] of [
        [`${root}/applications`, { name: app }],
        [`${root}/applications/${app}/app-versions`, { nameSuffix: 'v1' }],
      ] as const) {
        const answer = await ask(`POST ${url}`, body)
        assert.equal(answer.status, 201, answer.text)
      }
      return { app, version: `${app}-v1` }
    },
    /** Provisions the first token of an endpoint, as the register does. */
    async anEndpoint(applicationName: string, { endpointId = newId(), token = newId(), tenantId = 'default' } = {}) {
      const [provisioned] = await db.tx((sql) =>
        api.provision(sql, { tenantId, applicationName }, [{ endpointId, token }]),
      )
      assert.notEqual(provisioned, 'taken')
      return { endpointId, token }
    },
    /** Creates a second token of an endpoint and gives it a status through allowed transitions. */
    async aTokenWithStatus(status: TokenStatus, { endpointId = '', app = '', version = '' }) {
      const created = await provision(endpointId, { applicationName: app })
      if (status === 'Active' || status === 'Suspended')
        assert.ok(await api.validate({ token: created.token, versionName: version }))
      if (status === 'Suspended' || status === 'Revoked')
        assert.equal((await admin(`PUT ${created.url}/status`, { status })).status, 204)
      return created as { token: string; endpointTokenId: string; url: string }
    },
  }
}
