/** Verifies the credentials of connecting clients. */
import { type KeyObject, X509Certificate } from 'node:crypto'
import { createCache } from '../../../kernel/cache.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Caches, cacheKeyOf } from '../cache.ts'
import type { Credentials } from '../contract.ts'
import { CredentialStateChanged } from '../events.ts'
import type { LastUses } from '../last-use.ts'
import { passwordPattern, usernamePattern } from '../schemas.ts'
import { mayAuthenticate } from '../states.ts'
import { findAuthorityBySubject, platformTenant } from '../store/authorities.ts'
import { activateBasic, findLogin } from '../store/basic.ts'
import { activateCertificate, findCertificateBySerialNumber } from '../store/certificates.ts'
import type { PasswordChecks } from './password-checks.ts'

const validUsername = new RegExp(usernamePattern)
const validPassword = new RegExp(passwordPattern)
const validTenantId = /^[!-~]{1,255}$/
const validSerialNumber = /^[0-9A-F]{1,64}$/
const validIssuer = /^[^\0]{1,2000}$/s
const cachedAuthoritiesMax = 10_000

export function createVerification(
  { db, bus, now }: Kit,
  caches: Caches,
  passwordChecks: PasswordChecks,
  lastUses: LastUses,
): Pick<Credentials, 'verifyBasic' | 'verifyCertificate' | 'tenantOfCertificate'> {
  const authorities = createCache<{ tenantId: string; publicKey: KeyObject }>({ max: cachedAuthoritiesMax })

  /**
   * Finds the authority that issued a certificate. The cache may contain authorities of deleted tenants. Certificates of such an authority
   * are rejected nevertheless, because their rows are deleted.
   */
  const authorityOf = (issuer: string) =>
    authorities.read(issuer, async () => {
      const row = await findAuthorityBySubject(db.sql, issuer)
      return row && { tenantId: row.tenantId, publicKey: new X509Certificate(row.certificate).publicKey }
    })

  async function signerOf(certificate: X509Certificate): Promise<string | undefined> {
    const { issuer, serialNumber } = certificate
    if (!validIssuer.test(issuer) || !validSerialNumber.test(serialNumber)) return undefined
    const authority = await authorityOf(issuer)
    if (!authority || authority.tenantId === platformTenant) return undefined
    return certificate.verify(authority.publicKey) ? authority.tenantId : undefined
  }

  async function activateLogin(tenantId: string, credentialId: string, username: string) {
    await db.tx(async (sql) => {
      if (!(await activateBasic(sql, tenantId, credentialId, now()))) return
      const credential = { tenantId, credentialId, kind: 'basic', username } as const
      await bus.publish(sql, CredentialStateChanged, { ...credential, from: 'Inactive', to: 'Active' })
    })
    // If another node has activated the credential, its event may not have arrived at this node yet, so the cached row is dropped here.
    caches.logins.drop(cacheKeyOf(tenantId, username))
  }

  async function activateX509(tenantId: string, credentialId: string, serialNumber: string) {
    await db.tx(async (sql) => {
      if (!(await activateCertificate(sql, tenantId, credentialId, now()))) return
      const credential = { tenantId, credentialId, kind: 'x509', serialNumber } as const
      await bus.publish(sql, CredentialStateChanged, { ...credential, from: 'Inactive', to: 'Active' })
    })
    caches.certificates.drop(cacheKeyOf(tenantId, serialNumber))
  }

  return {
    async verifyBasic(client) {
      const { tenantId, username, password } = client
      if (!validTenantId.test(tenantId) || !validUsername.test(username) || !validPassword.test(password))
        return undefined
      const find = () => caches.logins.read(cacheKeyOf(tenantId, username), () => findLogin(db.sql, tenantId, username))
      let login = await find()
      for (;;) {
        const isCorrect = await passwordChecks.isCorrect(client, login)
        if (!login || !isCorrect || !mayAuthenticate(login.state)) return undefined
        if (login.state === 'Inactive') await activateLogin(tenantId, login.id, username)
        // The credential may have changed during the slow check, so it is read again.
        const current = await find()
        if (current && current.state !== 'Inactive' && current.passwordHash === login.passwordHash) {
          if (!mayAuthenticate(current.state)) return undefined
          lastUses.record('basic', tenantId, current)
          return { credentialId: current.id }
        }
        login = current
      }
    },

    async verifyCertificate(certificate) {
      const tenantId = await signerOf(certificate)
      if (tenantId === undefined) return undefined
      const serialNumber = BigInt(`0x${certificate.serialNumber}`).toString()
      const find = () =>
        caches.certificates.read(cacheKeyOf(tenantId, serialNumber), () =>
          findCertificateBySerialNumber(db.sql, tenantId, serialNumber),
        )
      let row = await find()
      while (row && mayAuthenticate(row.state) && now() <= row.invalidAfter) {
        if (row.state === 'Active') {
          lastUses.record('x509', tenantId, row)
          return { tenantId, credentialId: row.id, invalidAfter: row.invalidAfter }
        }
        await activateX509(tenantId, row.id, serialNumber)
        row = await find()
      }
      return undefined
    },

    tenantOfCertificate: signerOf,
  }
}
