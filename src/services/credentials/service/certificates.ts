import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { MoveRefused, NoCredential } from '../errors.ts'
import { CertificateExpiresSoon, CredentialCreated, CredentialStateChanged } from '../events.ts'
import type { Workshop } from '../pki/workshop.ts'
import type { CertificateCredential, IssuedCertificate } from '../schemas.ts'
import { mayMove, possibleFrom, type TargetState } from '../states.ts'
import { outdateList } from '../store/authorities.ts'
import * as store from '../store/certificates.ts'
import { type Authorities, newSerialNumber, toSecond } from './authorities.ts'

export interface CertificateRules {
  /** Page after page: no connection is held while a slow reader takes its time. */
  list(ctx: Ctx): AsyncIterable<CertificateCredential[]>
  read(ctx: Ctx, id: string): Promise<CertificateCredential>
  issue(ctx: Ctx, input: { commonName?: string; ttl?: number }): Promise<IssuedCertificate>
  move(ctx: Ctx, id: string, to: TargetState): Promise<void>
  /** Tells of certificates that expire soon, each once. */
  tellExpiring(sql: Sql): Promise<void>
}

const present = ({ lastUseDate, ...row }: store.CertificateRow): CertificateCredential => ({
  ...row,
  ...(lastUseDate && { lastUseDate }),
})

const defaultTtlSeconds = 31_536_000
const toldBeforeMs = 30 * 86_400_000
/** What is left waits for the next hour: one transaction should not tell a million. */
const toldAtOnce = 10_000

export function createCertificateRules(
  { db, bus, now, newId }: Kit,
  authorities: Authorities,
  workshop: Workshop,
): CertificateRules {
  return {
    async *list({ tenantId }) {
      let last: store.CertificateRow | undefined
      for (;;) {
        const { rows, complete } = await store.findCertificatePage(db.sql, tenantId, last)
        yield rows.map(present)
        if (complete) return
        last = rows.at(-1)
      }
    },

    async read({ tenantId }, id) {
      const row = await store.findCertificate(db.sql, tenantId, id)
      if (!row) throw NoCredential({ id })
      return present(row)
    },

    async issue({ tenantId }, { commonName = newId(), ttl = defaultTtlSeconds }) {
      const { chain, ...issuer } = await authorities.ofTenant(tenantId)
      const [id, serialNumber, at] = [newId(), newSerialNumber(), now()]
      // Valid for exactly `ttl`, hence from now on and not from a little earlier, as some issue for slow clocks.
      const notBefore = toSecond(at)
      const invalidAfter = new Date(notBefore.getTime() + ttl * 1000)
      const made = await workshop.make('makeCertificate', {
        ...{ serialNumber, commonName, notBefore, notAfter: invalidAfter, issuer },
      })
      await db.tx(async (sql) => {
        await store.insertCertificate(sql, { tenantId, id, serialNumber, commonName, invalidAfter, at })
        await bus.publish(sql, CredentialCreated, { tenantId, credentialId: id, kind: 'x509', serialNumber })
      })
      return {
        ...{ id, state: 'Inactive', serialNumber, commonName, invalidAfter, createdDate: at, updatedDate: at },
        certificate: made.certificate,
        certificateChain: made.certificate + chain.join(''),
        caChain: chain,
        issuingCa: chain[0],
        privateKey: made.privateKey,
      }
    },

    async move({ tenantId }, id, to) {
      await db.tx(async (sql) => {
        const row = await store.lockCertificate(sql, tenantId, id)
        if (!row) throw NoCredential({ id })
        const { state: from, serialNumber } = row
        if (from === to) return
        if (!mayMove(from, to, 'people')) throw MoveRefused({ from, to, possible: possibleFrom(from) })
        await store.setCertificateState(sql, tenantId, id, to, now())
        await outdateList(sql, tenantId) // every move by people puts it on the list, or takes it off
        const which = { tenantId, credentialId: id, kind: 'x509', serialNumber } as const
        await bus.publish(sql, CredentialStateChanged, { ...which, from, to })
      })
    },

    async tellExpiring(sql) {
      const until = new Date(now().getTime() + toldBeforeMs)
      for (const { invalidAfter, ...which } of await store.takeExpiring(sql, until, toldAtOnce))
        await bus.publish(sql, CertificateExpiresSoon, { ...which, invalidAfter: invalidAfter.toISOString() })
    },
  }
}
