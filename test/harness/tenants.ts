/**
 * Fixture of the tenants tests: the service with the real identity service, over a real database. A test can make calls of identity fail.
 */
import assert from 'node:assert/strict'
import tenants from '../../src/services/tenants/index.ts'
import { aPlatformAdmin } from './builders.ts'
import { eventually } from './eventually.ts'
import { failingIdentity } from './failing-identity.ts'
import { realmState } from './realm-state.ts'
import { aRegistration } from './registration.ts'
import { openTestPlatform, type TestPlatformOptions } from './test-platform.ts'

export async function openTenants(options: Partial<TestPlatformOptions> = {}) {
  const identity = failingIdentity()
  const waypost = await openTestPlatform({ ...options, services: [identity.service, tenants] })
  const { sql } = waypost.kit.db
  const admin = waypost.as(aPlatformAdmin())

  const waitForStatus = (tenantId: string, status: string) =>
    eventually(async () => {
      const { body } = await admin(`GET /api/v1/tenants/${tenantId}`)
      assert.equal(body.status, status)
      return body
    })

  return {
    waypost,
    identity,
    admin,
    /** Returns the realm as the identity service stores it; fails if it does not exist. */
    async realm(tenantId: string) {
      const state = await realmState(sql, tenantId)
      assert.ok(state, `realm ${tenantId}`)
      return state
    },
    hasRealm: async (tenantId: string) => (await realmState(sql, tenantId)) !== undefined,
    /** Logs in with a password and returns the HTTP status. */
    async loginStatus(tenantId: string, username: string, password: string) {
      const form = { grant_type: 'password', client_id: 'waypost-frontend', username, password }
      const answer = await waypost.as(undefined)(
        `POST /auth/realms/${tenantId}/protocol/openid-connect/token`,
        new URLSearchParams(form).toString(),
        { 'content-type': 'application/x-www-form-urlencoded' },
      )
      return answer.status
    },
    /** Waits until the tenant has this status; returns the tenant in the format of API v1. */
    waitForStatus,
    async createAvailable(tenantId: string, body: object = {}) {
      const answer = await admin('POST /api/v1/tenants', aRegistration({ realm_name: tenantId, ...body }))
      assert.equal(answer.status, 201, answer.text)
      return await waitForStatus(tenantId, 'AVAILABLE')
    },
  }
}

export const aCreation = (fields: object = {}) => ({
  name: 'Acme Ltd.',
  admin: { email: 'ada@acme.example', username: 'ada', first_name: 'Ada', last_name: 'Byron' },
  ...fields,
})
