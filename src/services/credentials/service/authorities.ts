/** Certificate authorities of the platform and of tenants, and their revocation lists. */
import { X509Certificate } from 'node:crypto'
import type { Kit } from '../../../kernel/define-service.ts'
import { newSerialNumber, toSecond } from '../../../kernel/pki/certificate-fields.ts'
import type { PkiWorker } from '../../../kernel/pki/worker.ts'
import type { Issuer } from '../../../kernel/pki/x509.ts'
import { createSingleFlight } from '../../../kernel/single-flight.ts'
import { NoRevocationList } from '../errors.ts'
import * as store from '../store/authorities.ts'

export interface RevocationList {
  bytes: Buffer
  number: number
}

export interface Authorities {
  /** Returns the platform's certificate as PEM. */
  root(): Promise<string>
  /** Returns the platform's authority. It is created on first use. */
  platform(): Promise<Issuer>
  /** Returns a tenant's authority, which is created on first use. `chain` contains its certificate, then the platform's. */
  ofTenant(tenantId: string): Promise<Issuer & { chain: [string, string] }>
  rootRevocationList(): Promise<RevocationList>
  revocationListOf(authorityId: string): Promise<RevocationList>
}

/** Root path of revocation lists. It is fixed, because certificates contain the URL. */
export const certificatesRoot = '/kpc/api/v1'

/**
 * A list is valid for a week and renewed daily, so that a client that downloads it daily always has a list that is valid for at least six
 * more days.
 */
const listValidMs = 7 * 86_400_000
const listRenewedMs = 86_400_000

export function createAuthorities({ db, now, newId, secrets, baseUrl }: Kit, worker: PkiWorker): Authorities {
  const singleFlight = createSingleFlight<void>()

  const listUrlOf = ({ tenantId, id }: { tenantId: string; id: string }) =>
    `${baseUrl()}${certificatesRoot}/certificates/${tenantId === store.platformTenant ? 'crl' : `authorities/${id}/crl`}`

  const issuerOf = (row: store.AuthorityRow): Issuer => ({
    certificate: row.certificate,
    privateKey: secrets.open(row.sealedKey),
    listAddress: listUrlOf(row),
  })

  async function findOrCreate(tenantId: string): Promise<store.AuthorityRow> {
    return (await store.findAuthority(db.sql, tenantId)) ?? (await createAuthority(tenantId))
  }

  /** Creates an authority. If several nodes do so concurrently, the first insert wins and the other authorities are discarded. */
  async function createAuthority(tenantId: string): Promise<store.AuthorityRow> {
    const [id, serialNumber] = [newId(), newSerialNumber()]
    const isPlatform = tenantId === store.platformTenant
    const created = await worker.make('makeAuthority', {
      serialNumber,
      notBefore: toSecond(now()),
      commonName: isPlatform ? `Waypost platform CA ${id}` : `Waypost tenant CA ${id}`,
      ...(!isPlatform && { unit: tenantId, issuer: issuerOf(await findOrCreate(store.platformTenant)) }),
    })
    const { certificate, privateKey, invalidAfter } = created
    const { subject } = new X509Certificate(certificate)
    const sealedKey = secrets.seal(privateKey)
    await store.insertAuthority(db.sql, {
      ...{ tenantId, id, subject, serialNumber, certificate, sealedKey, invalidAfter },
    })
    return (await store.findAuthority(db.sql, tenantId))!
  }

  const isCurrent = ({ list, listDate, current }: store.StoredList) =>
    list !== null && current && now().getTime() - listDate!.getTime() < listRenewedMs

  /** Returns the current list. If needed, creates it without holding a lock or connection, because this can take seconds. */
  async function currentListOf(authority: store.AuthorityRow): Promise<RevocationList> {
    for (;;) {
      const stored = await store.findList(db.sql, authority.tenantId)
      if (!stored) throw NoRevocationList({ id: authority.id })
      if (isCurrent(stored)) return { bytes: stored.list!, number: stored.listNumber }
      // A list that another request is creating may lack later changes, so the loop checks again.
      await singleFlight(authority.id, () => createList(authority, stored))
    }
  }

  async function createList({ tenantId, certificate, sealedKey }: store.AuthorityRow, stored: store.StoredList) {
    const date = toSecond(now())
    const entries =
      tenantId === store.platformTenant
        ? await store.findRetiredAuthorities(db.sql)
        : await store.findListedCertificates(db.sql, tenantId, date)
    const number = stored.listNumber + 1
    const bytes = await worker.make('makeRevocationList', {
      issuer: { certificate, privateKey: secrets.open(sealedKey) },
      number,
      thisUpdate: date,
      nextUpdate: new Date(date.getTime() + listValidMs),
      entries,
    })
    await store.saveList(db.sql, tenantId, { bytes, number, date, revision: stored.revision })
  }

  return {
    root: async () => (await findOrCreate(store.platformTenant)).certificate,
    platform: async () => issuerOf(await findOrCreate(store.platformTenant)),
    async ofTenant(tenantId) {
      const row = await findOrCreate(tenantId)
      const root = await findOrCreate(store.platformTenant)
      return { ...issuerOf(row), chain: [row.certificate, root.certificate] }
    },
    rootRevocationList: async () => await currentListOf(await findOrCreate(store.platformTenant)),
    async revocationListOf(authorityId) {
      const authority = await store.findAuthorityById(db.sql, authorityId)
      if (!authority) throw NoRevocationList({ id: authorityId })
      return await currentListOf(authority)
    },
  }
}
