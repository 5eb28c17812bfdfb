/** Fixture of the identity and authentication tests: realms, users and real tokens. */

import type { BuiltServices } from '../../src/assembly/build.ts'
import { Identity, type RoleSpec } from '../../src/identity/contract.ts'
import identity from '../../src/identity/index.ts'
import { createPasswords } from '../../src/identity/passwords.ts'
import { insertUser } from '../../src/identity/store/users.ts'
import type { Caller } from '../../src/kernel/contract.ts'
import { newId } from '../../src/kernel/ids.ts'
import { openTestPlatform, type TestPlatform, type TestPlatformOptions } from './test-platform.ts'

const verbs = ['create', 'read', 'update', 'delete']
const managed = ['user', 'role', 'grant', 'api-key', 'client', 'issuer']
const everything = [
  ...managed.flatMap((entity) => verbs.map((verb) => `identity:${entity}:${verb}`)),
  ...verbs.map((verb) => `endpoint:${verb}`),
  ...verbs.map((verb) => `application:${verb}`),
]
const roles: RoleSpec[] = [
  { name: 'tenant-admin', on: 'tenant', scopes: everything },
  { name: 'service', on: 'tenant', scopes: everything },
  { name: 'endpoint-reader', on: 'tenant', scopes: ['endpoint:read'] },
  { name: 'platform-admin', on: 'platform', scopes: ['kaa:tenant:read', 'endpoint:read'] },
]

export const password = 'correct horse'
// The password is hashed once, because hashing is slow on purpose.
let passwordHash: Promise<string> | undefined

export async function openRealms(options: Partial<TestPlatformOptions> = {}) {
  const waypost = await openTestPlatform({
    services: [identity],
    authenticate: (built) => built.ask(Identity).authenticate,
    ...options,
  })
  return { ...waypost, ...withRealms(waypost) }
}
export type Realms = Awaited<ReturnType<typeof openRealms>>

export function withRealms(waypost: TestPlatform | (BuiltServices & { http: TestPlatform['http'] })) {
  const { kit, http } = waypost
  const api = waypost.ask(Identity)
  const send = async (operation: string, body: unknown, headers: Record<string, string>) => {
    const [method, url] = operation.split(' ') as ['GET', string]
    const answer = await http.app.inject({
      method,
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const text = answer.body
    return {
      status: answer.statusCode,
      text,
      body: text === '' ? undefined : JSON.parse(text),
      headers: answer.headers,
    }
  }
  async function tokenFor(tenantId: string, form: Record<string, string>): Promise<string> {
    const answer = await http.app.inject({
      method: 'POST',
      url: `/auth/realms/${tenantId}/protocol/openid-connect/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString(),
    })
    if (answer.statusCode !== 200) throw new Error(`no token: ${answer.statusCode} ${answer.body}`)
    return answer.json().access_token
  }
  return {
    api,
    async realm(tenantId: string, backendRoles = ['service']) {
      await kit.db.tx(async (sql) => {
        await api.buildRealm(sql, {
          tenantId,
          accessTokenSeconds: 300,
          refreshTokenSeconds: 1800,
          frontendClient: { id: `${tenantId}-front`, redirectUris: [], webOrigins: [] },
          backendClient: { id: `${tenantId}-back`, roles: backendRoles },
          roles,
          resources: [],
        })
        await api.setRealmStatus(sql, tenantId, 'AVAILABLE')
      })
    },
    setStatus: (tenantId: string, status: 'AVAILABLE' | 'SUSPENDED') =>
      kit.db.tx((sql) => api.setRealmStatus(sql, tenantId, status)),
    async clientToken(tenantId: string) {
      const realm = await api.realm(tenantId)
      return await tokenFor(tenantId, {
        grant_type: 'client_credentials',
        client_id: realm!.backendClientId,
        client_secret: realm!.backendClientSecret,
      })
    },
    userToken: (tenantId: string, username: string, secret = password) =>
      tokenFor(tenantId, {
        grant_type: 'password',
        client_id: `${tenantId}-front`,
        username,
        password: secret,
        scope: 'openid',
      }),
    async user(tenantId: string, username: string, roles: string[] = []) {
      passwordHash ??= createPasswords(kit.platform.passwordCost.scrypt).hash(password)
      const names = { email: null, firstName: null, lastName: null }
      const user = { id: newId(), username, ...names, passwordHash: await passwordHash, roles }
      await insertUser(kit.db.sql, tenantId, user)
      return user.id
    },
    bearer: (token: string) => (operation: string, body?: unknown) =>
      send(operation, body, { authorization: `Bearer ${token}` }),
    withKey:
      (key: string, header = 'x-identity-api-key') =>
      (operation: string, body?: unknown) =>
        send(operation, body, { [header]: key }),
    authenticate: (authorization: string): Promise<Caller | undefined> => api.authenticate({ authorization }),
  }
}
