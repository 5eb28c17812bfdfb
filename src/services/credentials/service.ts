/** Assembles the service: the operations for routes.ts and the contract for other services. */
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createLockout, fromAllAddresses } from '../../kernel/lockout.ts'
import type { LockoutKind } from '../../kernel/lockout-report.ts'
import { newSerialNumber, toSecond } from '../../kernel/pki/certificate-fields.ts'
import { createPkiWorker } from '../../kernel/pki/worker.ts'
import { createCaches } from './cache.ts'
import type { Credentials } from './contract.ts'
import { TenantCredentialsDeleted } from './events.ts'
import { createHashing } from './hashing.ts'
import { createLastUses } from './last-use.ts'
import { type Authorities, createAuthorities } from './service/authorities.ts'
import { type BasicCredentialOperations, createBasicCredentialOperations } from './service/basic.ts'
import { type CertificateOperations, createCertificateOperations } from './service/certificates.ts'
import { createPasswordChecks } from './service/password-checks.ts'
import { createVerification } from './service/verification.ts'
import { markListOutdated, platformTenant, retireAuthority } from './store/authorities.ts'
import { deleteBasicOfTenant } from './store/basic.ts'

export interface CredentialsService {
  basic: BasicCredentialOperations
  certificates: CertificateOperations
  authorities: Authorities
  /** Deletes the credentials of a deleted tenant and revokes its authority. */
  deleteTenantData(sql: Sql, tenantId: string): Promise<void>
  stop(): Promise<void>
  api: Credentials
}

export function createCredentials(kit: Kit): CredentialsService {
  const { bus, now, metrics } = kit
  const worker = createPkiWorker()
  const hashing = createHashing(kit.platform.passwordCost.bcryptRounds)
  const lastUses = createLastUses(kit)
  const caches = createCaches(bus)
  const authorities = createAuthorities(kit, worker)
  const { account: limit, windowSeconds, lockSeconds } = kit.platform.loginLockout
  const lockoutOf = (limit: number, kind: LockoutKind) => {
    const locked = () => kit.reportLockout({ kind, secret: 'mqtt-credentials' })
    return createLockout({ limit, windowSeconds, lockSeconds }, { nowMs: () => now().getTime(), locked })
  }
  const lockouts = {
    pairs: lockoutOf(limit, 'account-at-address'),
    usernames: lockoutOf(limit * fromAllAddresses, 'account'),
  }
  metrics.gauge('waypost_credentials_waiting', 'Number of passwords that wait to be checked.', [], (gauge) =>
    gauge.set(hashing.queuedCount()),
  )
  return {
    basic: createBasicCredentialOperations(kit, hashing),
    certificates: createCertificateOperations(kit, authorities, worker),
    authorities,
    async deleteTenantData(sql, tenantId) {
      await deleteBasicOfTenant(sql, tenantId)
      if (await retireAuthority(sql, tenantId, now())) await markListOutdated(sql, platformTenant)
      await bus.publish(sql, TenantCredentialsDeleted, { tenantId })
    },
    async stop() {
      await lastUses.flush()
      await worker.close()
    },
    api: {
      ...createVerification(kit, caches, createPasswordChecks(hashing, lockouts), lastUses),
      rootCertificate: authorities.root,
      async issueServerCertificate({ hosts, ttlSeconds }) {
        const issuer = await authorities.platform()
        const notBefore = toSecond(now())
        const invalidAfter = new Date(notBefore.getTime() + ttlSeconds * 1000)
        const { certificate, privateKey } = await worker.make('makeCertificate', {
          ...{
            serialNumber: newSerialNumber(),
            commonName: hosts[0]!,
            notBefore,
            notAfter: invalidAfter,
            issuer,
            hosts,
          },
        })
        return { certificateChain: certificate + issuer.certificate, privateKey, invalidAfter }
      },
    },
  }
}
