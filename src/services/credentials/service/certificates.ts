import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { newSerialNumber, toSecond } from '../../../kernel/pki/certificate-fields.ts'
import type { PkiWorker } from '../../../kernel/pki/worker.ts'
import { NoCredential, TransitionRejected } from '../errors.ts'
import { CertificateExpiresSoon, CredentialCreated, CredentialStateChanged } from '../events.ts'
import type { CertificateCredential, IssuedCertificate } from '../schemas.ts'
import { allowedTransitionsText, isAllowed, type TargetState } from '../states.ts'
import { markListOutdated } from '../store/authorities.ts'
import * as store from '../store/certificates.ts'
import type { Authorities } from './authorities.ts'

export interface CertificateOperations {
  /** Yields page by page, so that no database connection is held while a slow client reads the response. */
  list(ctx: Ctx): AsyncIterable<CertificateCredential[]>
  read(ctx: Ctx, id: string): Promise<CertificateCredential>
  issue(ctx: Ctx, input: { commonName?: string; ttl?: number }): Promise<IssuedCertificate>
  changeState(ctx: Ctx, id: string, to: TargetState): Promise<void>
  /** Publishes one event for each certificate that expires soon. */
  publishExpiring(sql: Sql): Promise<void>
}

const viewOf = ({ lastUseDate, ...row }: store.CertificateRow): CertificateCredential => ({
  ...row,
  ...(lastUseDate && { lastUseDate }),
})

const defaultTtlSeconds = 31_536_000
const expiresSoonMs = 30 * 86_400_000
/** Maximum number of events in one transaction. The next hourly run publishes further events. */
const eventsMax = 10_000

export function createCertificateOperations(
  { db, bus, now, newId }: Kit,
  authorities: Authorities,
  worker: PkiWorker,
): CertificateOperations {
  return {
    async *list({ tenantId }) {
      let last: store.CertificateRow | undefined
      for (;;) {
        const { rows, complete } = await store.findCertificatePage(db.sql, tenantId, last)
        yield rows.map(viewOf)
        if (complete) return
        last = rows.at(-1)
      }
    },

    async read({ tenantId }, id) {
      const row = await store.findCertificate(db.sql, tenantId, id)
      if (!row) throw NoCredential({ id })
      return viewOf(row)
    },

    async issue({ tenantId }, { commonName = newId(), ttl = defaultTtlSeconds }) {
      const { chain, ...issuer } = await authorities.ofTenant(tenantId)
      const [id, serialNumber, at] = [newId(), newSerialNumber(), now()]
      // The certificate is valid for exactly `ttl` from now. The start is not moved back for devices whose clock is slow.
      const notBefore = toSecond(at)
      const invalidAfter = new Date(notBefore.getTime() + ttl * 1000)
      const created = await worker.make('makeCertificate', {
        ...{ serialNumber, commonName, notBefore, notAfter: invalidAfter, issuer },
      })
      await db.tx(async (sql) => {
        await store.insertCertificate(sql, { tenantId, id, serialNumber, commonName, invalidAfter, at })
        await bus.publish(sql, CredentialCreated, { tenantId, credentialId: id, kind: 'x509', serialNumber })
      })
      return {
        ...{ id, state: 'Inactive', serialNumber, commonName, invalidAfter, createdDate: at, updatedDate: at },
        certificate: created.certificate,
        certificateChain: created.certificate + chain.join(''),
        caChain: chain,
        issuingCa: chain[0],
        privateKey: created.privateKey,
      }
    },

    async changeState({ tenantId }, id, to) {
      await db.tx(async (sql) => {
        const row = await store.lockCertificate(sql, tenantId, id)
        if (!row) throw NoCredential({ id })
        const { state: from, serialNumber } = row
        if (from === to) return
        if (!isAllowed(from, to, 'caller'))
          throw TransitionRejected({ from, to, possible: allowedTransitionsText(from) })
        await store.setCertificateState(sql, tenantId, id, to, now())
        await markListOutdated(sql, tenantId) // Every change by a caller adds the certificate to the list or removes it.
        const credential = { tenantId, credentialId: id, kind: 'x509', serialNumber } as const
        await bus.publish(sql, CredentialStateChanged, { ...credential, from, to })
      })
    },

    async publishExpiring(sql) {
      const until = new Date(now().getTime() + expiresSoonMs)
      for (const { invalidAfter, ...certificate } of await store.takeExpiring(sql, until, eventsMax))
        await bus.publish(sql, CertificateExpiresSoon, { ...certificate, invalidAfter: invalidAfter.toISOString() })
    },
  }
}
