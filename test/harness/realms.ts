/** Fixture of the OpenID Connect tests: the identity service on a real socket, realms, and a client over plain HTTP. */
import { createHash, randomBytes } from 'node:crypto'
import { Identity, type RealmSpec } from '../../src/identity/contract.ts'
import identity from '../../src/identity/index.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import type { ConnectionOptions } from '../../src/kernel/db.ts'
import { freePort } from './free-port.ts'
import { openTestPlatform, type TestPlatform } from './test-platform.ts'

export const aRealm = (tenantId: string, changes: Partial<RealmSpec> = {}): RealmSpec => ({
  tenantId,
  displayName: `${tenantId} Works`,
  accessTokenSeconds: 300,
  refreshTokenSeconds: 1800,
  frontendClient: { id: `${tenantId}-frontend`, redirectUris: [], webOrigins: [] },
  backendClient: { id: `${tenantId}-backend`, roles: ['service'] },
  roles: [
    { name: 'service', on: 'tenant', scopes: ['identity:user:read'] },
    { name: 'tenant-admin', on: 'tenant', scopes: ['identity:user:read', 'identity:user:update'] },
  ],
  resources: [],
  ...changes,
})

export const password = 'correct horse battery staple'

export interface Realm {
  tenantId: string
  url: string
  frontend: string
  backend: string
  secret: string
}

export interface IdentityPlatform extends TestPlatform {
  identity: Identity
  addRealm(tenantId: string, changes?: Partial<RealmSpec>): Promise<Realm>
  addUser(tenantId: string, username: string): Promise<{ id: string; username: string }>
}

/** Starts the identity service on the port of its base URL. If the test sets `WAYPOST_BASE_URL`, the service listens on any free port. */
export async function openIdentity(
  options: { environment?: Record<string, string>; connection?: ConnectionOptions; now?: Clock; port?: number } = {},
): Promise<IdentityPlatform> {
  const port = options.port ?? (await freePort())
  const waypost = await openTestPlatform({
    services: [identity],
    environment: { WAYPOST_BASE_URL: `http://127.0.0.1:${port}`, ...options.environment },
    ...(options.connection && { connection: options.connection }),
    ...(options.now && { now: options.now }),
    authenticate: (built) => built.ask(Identity).authenticate,
    origins: (built) => built.ask(Identity).isOriginAllowed,
  })
  await waypost.http.app.listen({ host: '127.0.0.1', port })
  const api = waypost.ask(Identity)
  const { db } = waypost.kit
  return {
    ...waypost,
    identity: api,
    async addRealm(tenantId, changes) {
      await db.tx(async (sql) => {
        await api.buildRealm(sql, aRealm(tenantId, changes))
        await api.setRealmStatus(sql, tenantId, 'AVAILABLE')
      })
      const view = (await api.realm(tenantId))!
      return {
        tenantId,
        url: view.issuer,
        frontend: view.frontendClientId,
        backend: view.backendClientId,
        secret: view.backendClientSecret,
      }
    },
    async addUser(tenantId, username) {
      const person = { firstName: 'Ada', lastName: 'Lovelace', email: `${username}@example.org` }
      const user = { username, password, roles: ['tenant-admin'], ...person }
      const created = await db.tx((sql) => api.createUser(sql, tenantId, user))
      return { id: created!.id, username }
    },
  }
}

export interface Reply {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  body: any
}

export async function call(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const body = text.startsWith('{') ? JSON.parse(text) : undefined
  return { status: response.status, headers: response.headers, text, body }
}

type Fields = Record<string, string>

export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

/** Returns functions for the OpenID Connect endpoints of a realm. */
export function clientOf(realm: Realm) {
  const urlOf = (path: string) => `${realm.url}/protocol/openid-connect/${path}`
  const post = (path: string, form: Fields, headers: Fields = {}) =>
    call(urlOf(path), { method: 'POST', body: new URLSearchParams(form), headers })
  const { frontend, backend, secret } = realm
  const token = (form: Fields, headers?: Fields) => post('token', form, headers)
  return {
    at: urlOf,
    post,
    token,
    logIn: (username: string, extra: Fields = {}) =>
      token({ grant_type: 'password', client_id: frontend, username, password, ...extra }),
    refresh: (value: string, extra: Fields = {}) =>
      token({ grant_type: 'refresh_token', client_id: frontend, refresh_token: value, ...extra }),
    serviceAccount: () => token({ grant_type: 'client_credentials', client_id: backend, client_secret: secret }),
    introspect: (value: string) => post('token/introspect', { token: value }, basic(backend, secret)),
    userinfo: (value: string) => call(urlOf('userinfo'), { headers: { authorization: `Bearer ${value}` } }),
    authUrl: (challenge: string, parameters: Fields = {}) =>
      `${urlOf('auth')}?${new URLSearchParams({
        client_id: frontend,
        response_type: 'code',
        redirect_uri: `${new URL(realm.url).origin}/console/callback`,
        scope: 'openid',
        state: 's1',
        nonce: 'n1',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...parameters,
      })}`,
  }
}

export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** HTTP client that stores cookies by name and path, and follows no redirects. */
export function aBrowser() {
  const jar = new Map<string, { name: string; value: string; path: string }>()
  async function go(url: string, form?: Fields) {
    const { pathname } = new URL(url)
    const cookie = [...jar.values()]
      .filter(({ path }) => pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const reply = await call(url, {
      headers: { accept: 'text/html', cookie },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of reply.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const [name = '', value = ''] = pair.split('=')
      const path = attributes.find((attribute) => attribute.startsWith('path='))?.slice(5) ?? '/'
      if (value) jar.set(`${name} ${path}`, { name, value, path })
      else jar.delete(`${name} ${path}`)
    }
    return { ...reply, location: reply.headers.get('location') ?? '' }
  }
  return {
    jar,
    go,
    /** Signs in through the sign-in page and returns the URL that redirects back to the application. */
    async signIn(authUrl: string, username: string): Promise<URL> {
      const { origin } = new URL(authUrl)
      const page = await go(authUrl)
      const right = await go(origin + page.location, { username, password })
      return new URL((await go(right.location)).location)
    },
  }
}
