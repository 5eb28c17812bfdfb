/** The rules of the service put together: what routes.ts calls, and what other services ask for. */
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createLockout } from '../../kernel/lockout.ts'
import type { Credentials } from './contract.ts'
import { TenantCredentialsDeleted } from './events.ts'
import { createHashing } from './hashing.ts'
import { createMemory } from './memory.ts'
import { createWorkshop } from './pki/workshop.ts'
import { type Authorities, createAuthorities, newSerialNumber, toSecond } from './service/authorities.ts'
import { type BasicRules, createBasicRules } from './service/basic.ts'
import { type CertificateRules, createCertificateRules } from './service/certificates.ts'
import { createVerdicts } from './service/verdicts.ts'
import { createVerification } from './service/verification.ts'
import { outdateList, platformTenant, retireAuthority } from './store/authorities.ts'
import { deleteBasicOfTenant } from './store/basic.ts'
import { createUses } from './uses.ts'

export interface CredentialsService {
  basic: BasicRules
  certificates: CertificateRules
  authorities: Authorities
  /** In the transaction that the tenant's deletion is told in. */
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  stop(): Promise<void>
  api: Credentials
}

export function createCredentials(kit: Kit): CredentialsService {
  const { bus, now, metrics } = kit
  const workshop = createWorkshop()
  const hashing = createHashing(kit.platform.passwordCost.bcryptRounds)
  const uses = createUses(kit)
  const memory = createMemory(bus)
  const authorities = createAuthorities(kit, workshop)
  const { account: limit, windowSeconds, lockSeconds } = kit.platform.loginLockout
  const lockout = createLockout({ limit, windowSeconds, lockSeconds }, { nowMs: () => now().getTime() })
  metrics.gauge('waypost_credentials_waiting', 'Number of passwords that wait to be checked.', [], (gauge) =>
    gauge.set(hashing.waiting()),
  )
  return {
    basic: createBasicRules(kit, hashing),
    certificates: createCertificateRules(kit, authorities, workshop),
    authorities,
    async forgetTenant(sql, tenantId) {
      await deleteBasicOfTenant(sql, tenantId)
      if (await retireAuthority(sql, tenantId, now())) await outdateList(sql, platformTenant)
      await bus.publish(sql, TenantCredentialsDeleted, { tenantId })
    },
    async stop() {
      await uses.flush()
      await workshop.close()
    },
    api: {
      ...createVerification(kit, memory, createVerdicts(hashing, lockout), uses),
      rootCertificate: authorities.root,
      async issueServerCertificate({ hosts, ttlSeconds }) {
        const issuer = await authorities.platform()
        const notBefore = toSecond(now())
        const invalidAfter = new Date(notBefore.getTime() + ttlSeconds * 1000)
        const { certificate, privateKey } = await workshop.make('makeCertificate', {
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
