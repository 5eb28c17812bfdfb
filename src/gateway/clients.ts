/**
 * Who a client is, from its CONNECT (document 3, 2.A): anonymous, `<name>@<tenantId>` with a password, or a certificate of ours.
 * What is presented must be right; whether anything has to be presented the tenant decides once a topic names it.
 */
import { createHash } from 'node:crypto'
import type { Bus } from '../kernel/bus.ts'
import { PlatformError } from '../kernel/errors.ts'
import type { Credentials } from '../services/credentials/contract.ts'
import { CredentialDeleted, CredentialStateChanged, TenantCredentialsDeleted } from '../services/credentials/events.ts'
import type { Guesses } from './limits.ts'
import type { Client, Verdict } from './mqtt/host.ts'
import type { Shown } from './peers.ts'
import type { Tenant, Tenants } from './tenants.ts'

export interface Clients {
  admit(client: Client): Promise<Verdict>
  /** What an admitted client has shown; undefined: nothing, it is anonymous. */
  shownBy(client: Client): Shown | undefined
  /** Whether it was admitted on a word that has been taken back since. */
  isStale(client: Client): boolean
  /** Credentials ended; undefined: any of them may have. */
  onEnd(listener: (which: { credentialId: string } | { tenantId: string } | undefined) => void): void
}

type Refusal = Extract<Verdict, { accepted: false }>

const wrong = (why: string, tenantId?: string): Refusal => ({
  accepted: false,
  code: 'bad_credentials',
  why,
  ...(tenantId !== undefined && { tenantId }),
})

/** Of all that it shows, to know it again. */
const digestOf = ({ certificate, username, password }: Client) =>
  createHash('sha256')
    .update(JSON.stringify([certificate?.fingerprint256, username, password?.toString('base64')]))
    .digest('base64')

type Verification = Pick<Credentials, 'verifyBasic' | 'verifyCertificate' | 'tenantOfCertificate'>

export function createClients(deps: {
  bus: Bus
  credentials: Verification
  tenants: Tenants
  guesses: Guesses
}): Clients {
  const { bus, credentials, tenants, guesses } = deps
  const admitted = new WeakMap<Client, { shown: Shown; words: number; tenant: Tenant; generation: number }>()
  const listeners: Parameters<Clients['onEnd']>[0][] = []
  let words = 0

  const ended = (which: Parameters<(typeof listeners)[0]>[0]) => {
    words++
    for (const listener of listeners) listener(which)
  }
  bus.hear(CredentialStateChanged, ({ credentialId, to }) => {
    if (to === 'Suspended' || to === 'Revoked') ended({ credentialId })
  })
  bus.hear(CredentialDeleted, ({ credentialId }) => ended({ credentialId }))
  bus.hear(TenantCredentialsDeleted, ({ tenantId }) => ended({ tenantId }))
  bus.onGap(() => ended(undefined))

  return {
    async admit(client) {
      const { address } = client
      const presents = client.certificate !== undefined || Boolean(client.username || client.password?.length)
      const anonymous: Verdict = { accepted: true, owner: `address:${address}` }
      if (!presents) return anonymous
      const what = digestOf(client)
      const seconds = guesses.lockedFor(address, what)
      if (seconds > 0)
        return {
          accepted: false,
          code: 'banned',
          why: `too many wrong credentials from this address; ${seconds} s to go`,
        }
      const before = words
      let shown: Shown | Refusal | undefined
      try {
        shown = await verify(credentials, client)
      } catch (error) {
        if (error instanceof PlatformError && error.status === 429)
          return { accepted: false, code: 'busy', why: 'too many passwords are being checked' }
        throw error
      }
      if (!shown) return anonymous
      if ('accepted' in shown) {
        guesses.wrong(address, what)
        return shown
      }
      guesses.right(address, what)
      const tenant = await tenants.get(shown.tenantId)
      if (!tenant?.available) return wrong('the tenant is not available')
      admitted.set(client, { shown, words: before, tenant, generation: tenant.generation })
      return { accepted: true, owner: `credential:${shown.credentialIds.join('+')}` }
    },
    shownBy: (client) => admitted.get(client)?.shown,
    isStale(client) {
      const known = admitted.get(client)
      return known !== undefined && (known.words !== words || known.generation !== known.tenant.generation)
    },
    onEnd: (listener) => void listeners.push(listener),
  }
}

async function byCertificate(credentials: Verification, { certificate }: Client): Promise<Shown | Refusal | undefined> {
  if (!certificate) return undefined
  const found = await credentials.verifyCertificate(certificate)
  if (!found) {
    const signer = await credentials.tenantOfCertificate(certificate)
    return signer === undefined
      ? wrong('the certificate is not one of ours')
      : wrong('the certificate was suspended or revoked, or has expired', signer)
  }
  const { tenantId, credentialId } = found
  return {
    tenantId,
    credentialIds: [credentialId],
    methods: ['x509'],
    holds: async () => (await credentials.verifyCertificate(certificate)) !== undefined,
  }
}

async function byPassword(credentials: Verification, client: Client): Promise<Shown | Refusal | undefined> {
  // Some clients send an empty name where they mean none.
  if (!client.username && !client.password?.length) return undefined
  const at = client.username?.lastIndexOf('@') ?? -1
  if (at < 1) return wrong('the username is not <name>@<tenantId>')
  const login = {
    tenantId: client.username!.slice(at + 1),
    username: client.username!.slice(0, at),
    password: client.password?.toString('utf8') ?? '',
  }
  const found = await credentials.verifyBasic(login)
  if (!found) return wrong('wrong username or password, or the credentials were suspended or revoked')
  return {
    tenantId: login.tenantId,
    credentialIds: [found.credentialId],
    methods: ['basic'],
    holds: async () => (await credentials.verifyBasic(login)) !== undefined,
  }
}

/** Both, where both are given: they must be right and of the same tenant. */
async function verify(credentials: Verification, client: Client): Promise<Shown | Refusal | undefined> {
  const certificate = await byCertificate(credentials, client)
  if (certificate && 'accepted' in certificate) return certificate
  const password = await byPassword(credentials, client)
  if (!certificate || !password || 'accepted' in password) return password ?? certificate
  if (password.tenantId !== certificate.tenantId) return wrong('certificate and username are of different tenants')
  return {
    tenantId: password.tenantId,
    credentialIds: [...certificate.credentialIds, ...password.credentialIds],
    methods: ['x509', 'basic'],
    holds: async () => (await certificate.holds()) && (await password.holds()),
  }
}
