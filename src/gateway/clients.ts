/**
 * Authenticates clients at CONNECT (document 3, 2.A). A client presents the username `<name>@<tenantId>` with a password, or a certificate
 * that the platform issued, or both, or is anonymous. Whether a tenant requires authentication is checked when a topic first names the
 * tenant (identify.ts).
 */
import { createHash } from 'node:crypto'
import type { Bus } from '../kernel/bus.ts'
import { PlatformError } from '../kernel/errors.ts'
import type { Credentials } from '../services/credentials/contract.ts'
import { CredentialDeleted, CredentialStateChanged, TenantCredentialsDeleted } from '../services/credentials/events.ts'
import type { AddressLockout } from './address-lockout.ts'
import type { Authentication } from './connection-state.ts'
import type { Client, Verdict } from './mqtt/host.ts'
import type { Tenant, Tenants } from './tenants.ts'

export interface Clients {
  authenticate(client: Client): Promise<Verdict>
  /** Returns the authentication of an accepted client, or undefined if the client is anonymous. */
  authenticationOf(client: Client): Authentication | undefined
  /** Returns true if the credentials or the tenant of the client may have changed since the client was accepted. */
  isStale(client: Client): boolean
  /**
   * Calls the listener when credentials were suspended, revoked or deleted. After a reset it is called with undefined, because any
   * credentials may have changed.
   */
  onEnd(listener: (which: { credentialId: string } | { tenantId: string } | undefined) => void): void
}

type Refusal = Extract<Verdict, { accepted: false }>

const badCredentials = (why: string, tenantId?: string): Refusal => ({
  accepted: false,
  code: 'bad_credentials',
  why,
  ...(tenantId !== undefined && { tenantId }),
})

/** Returns a digest of the presented credentials, by which the lockout recognizes them. */
const digestOf = ({ certificate, username, password }: Client) =>
  createHash('sha256')
    .update(JSON.stringify([certificate?.fingerprint256, username, password?.toString('base64')]))
    .digest('base64')

type Verification = Pick<Credentials, 'verifyBasic' | 'verifyCertificate' | 'tenantOfCertificate'>

export function createClients(deps: {
  bus: Bus
  credentials: Verification
  tenants: Tenants
  lockout: AddressLockout
}): Clients {
  const { bus, credentials, tenants, lockout } = deps
  const admitted = new WeakMap<
    Client,
    { authentication: Authentication; revocations: number; tenant: Tenant; generation: number }
  >()
  const listeners: Parameters<Clients['onEnd']>[0][] = []
  let revocations = 0

  const credentialsEnded = (ended: Parameters<(typeof listeners)[0]>[0]) => {
    revocations++
    for (const listener of listeners) listener(ended)
  }
  bus.subscribe(CredentialStateChanged, ({ credentialId, to }) => {
    if (to === 'Suspended' || to === 'Revoked') credentialsEnded({ credentialId })
  })
  bus.subscribe(CredentialDeleted, ({ credentialId }) => credentialsEnded({ credentialId }))
  bus.subscribe(TenantCredentialsDeleted, ({ tenantId }) => credentialsEnded({ tenantId }))
  bus.onReset(() => credentialsEnded(undefined))

  return {
    async authenticate(client) {
      const { address } = client
      const presentsCredentials =
        client.certificate !== undefined || Boolean(client.username || client.password?.length)
      const anonymous: Verdict = { accepted: true, owner: `address:${address}` }
      if (!presentsCredentials) return anonymous
      const credentialsDigest = digestOf(client)
      const seconds = lockout.lockedSeconds(address, credentialsDigest)
      if (seconds > 0)
        return {
          accepted: false,
          code: 'banned',
          why: `too many wrong credentials from this address; the address is locked for another ${seconds} s`,
        }
      const revocationsBefore = revocations
      let authentication: Authentication | Refusal | undefined
      try {
        authentication = await verify(credentials, client)
      } catch (error) {
        if (error instanceof PlatformError && error.status === 429)
          return { accepted: false, code: 'busy', why: 'too many passwords are being checked' }
        throw error
      }
      if (!authentication) return anonymous
      if ('accepted' in authentication) {
        lockout.recordFailure(address, credentialsDigest)
        return authentication
      }
      lockout.recordSuccess(address, credentialsDigest)
      const tenant = await tenants.get(authentication.tenantId)
      if (!tenant?.available) return badCredentials('the tenant is not available')
      admitted.set(client, { authentication, revocations: revocationsBefore, tenant, generation: tenant.generation })
      return { accepted: true, owner: `credential:${authentication.credentialIds.join('+')}` }
    },
    authenticationOf: (client) => admitted.get(client)?.authentication,
    isStale(client) {
      const known = admitted.get(client)
      return known !== undefined && (known.revocations !== revocations || known.generation !== known.tenant.generation)
    },
    onEnd: (listener) => void listeners.push(listener),
  }
}

async function verifyCertificate(
  credentials: Verification,
  { certificate }: Client,
): Promise<Authentication | Refusal | undefined> {
  if (!certificate) return undefined
  const verified = await credentials.verifyCertificate(certificate)
  if (!verified) {
    const issuingTenant = await credentials.tenantOfCertificate(certificate)
    return issuingTenant === undefined
      ? badCredentials('no authority of this platform issued the certificate')
      : badCredentials('the certificate was suspended or revoked, or has expired', issuingTenant)
  }
  const { tenantId, credentialId, invalidAfter } = verified
  return {
    tenantId,
    credentialIds: [credentialId],
    methods: ['x509'],
    validUntil: invalidAfter,
    isStillValid: async () => (await credentials.verifyCertificate(certificate)) !== undefined,
  }
}

async function verifyPassword(
  credentials: Verification,
  client: Client,
): Promise<Authentication | Refusal | undefined> {
  // Some clients send an empty username to connect anonymously.
  if (!client.username && !client.password?.length) return undefined
  const separator = client.username?.lastIndexOf('@') ?? -1
  if (separator < 1) return badCredentials('the username is not <name>@<tenantId>')
  const login = {
    tenantId: client.username!.slice(separator + 1),
    username: client.username!.slice(0, separator),
    password: client.password?.toString('utf8') ?? '',
    address: client.address,
  }
  const verified = await credentials.verifyBasic(login)
  if (!verified) return badCredentials('wrong username or password, or the credentials were suspended or revoked')
  return {
    tenantId: login.tenantId,
    credentialIds: [verified.credentialId],
    methods: ['basic'],
    isStillValid: async () => (await credentials.verifyBasic(login)) !== undefined,
  }
}

/** Verifies certificate and password. If both are presented, both must be valid and of the same tenant. */
async function verify(credentials: Verification, client: Client): Promise<Authentication | Refusal | undefined> {
  const certificate = await verifyCertificate(credentials, client)
  if (certificate && 'accepted' in certificate) return certificate
  const password = await verifyPassword(credentials, client)
  if (!certificate || !password || 'accepted' in password) return password ?? certificate
  if (password.tenantId !== certificate.tenantId)
    return badCredentials('certificate and username are of different tenants')
  return {
    tenantId: password.tenantId,
    credentialIds: [...certificate.credentialIds, ...password.credentialIds],
    methods: ['x509', 'basic'],
    validUntil: certificate.validUntil,
    isStillValid: async () => (await certificate.isStillValid()) && (await password.isStillValid()),
  }
}
