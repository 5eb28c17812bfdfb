/** The platform's certificate authority, one for each tenant below it, and their revocation lists. */
import { randomBytes, X509Certificate } from 'node:crypto'
import type { Kit } from '../../../kernel/define-service.ts'
import { createSingleFlight } from '../../../kernel/single-flight.ts'
import { NoRevocationList } from '../errors.ts'
import type { Issuer } from '../pki/make.ts'
import type { Workshop } from '../pki/workshop.ts'
import * as store from '../store/authorities.ts'

export interface RevocationList {
  bytes: Buffer
  number: number
}

export interface Authorities {
  /** PEM. */
  root(): Promise<string>
  /** As an issuer of certificates; made on first need. `chain`: its certificate, then the platform's. */
  platform(): Promise<Issuer>
  ofTenant(tenantId: string): Promise<Issuer & { chain: [string, string] }>
  rootList(): Promise<RevocationList>
  listOf(authorityId: string): Promise<RevocationList>
}

/** Where revocation lists are served. Certificates hold the address, so it cannot come from a request. */
export const certificatesRoot = '/kpc/api/v1'

/** Good for a week, renewed daily: who asks once a day always holds one that is good for six more. */
const listGoodMs = 7 * 86_400_000
const listRenewedMs = 86_400_000

/** Random, positive and 16 octets long in DER, whatever the bits; base 10. */
export function newSerialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return BigInt(`0x${bytes.toString('hex')}`).toString()
}

/** X.509 knows no parts of a second. */
export const toSecond = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000)

export function createAuthorities({ db, now, newId, secrets, baseUrl }: Kit, workshop: Workshop): Authorities {
  const once = createSingleFlight<void>()

  const listAddress = ({ tenantId, id }: { tenantId: string; id: string }) =>
    `${baseUrl()}${certificatesRoot}/certificates/${tenantId === store.platformTenant ? 'crl' : `authorities/${id}/crl`}`

  const asIssuer = (row: store.AuthorityRow): Issuer => ({
    certificate: row.certificate,
    privateKey: secrets.open(row.sealedKey),
    listAddress: listAddress(row),
  })

  async function find(tenantId: string): Promise<store.AuthorityRow> {
    return (await store.findAuthority(db.sql, tenantId)) ?? (await make(tenantId))
  }

  /** Whoever is first among processes wins; the others' is thrown away. */
  async function make(tenantId: string): Promise<store.AuthorityRow> {
    const [id, serialNumber] = [newId(), newSerialNumber()]
    const isPlatform = tenantId === store.platformTenant
    const made = await workshop.make('makeAuthority', {
      serialNumber,
      notBefore: toSecond(now()),
      commonName: isPlatform ? `Waypost platform CA ${id}` : `Waypost tenant CA ${id}`,
      ...(!isPlatform && { unit: tenantId, issuer: asIssuer(await find(store.platformTenant)) }),
    })
    const { certificate, privateKey, invalidAfter } = made
    const { subject } = new X509Certificate(certificate)
    const sealedKey = secrets.seal(privateKey)
    await store.insertAuthority(db.sql, {
      ...{ tenantId, id, subject, serialNumber, certificate, sealedKey, invalidAfter },
    })
    return (await store.findAuthority(db.sql, tenantId))!
  }

  const isGood = ({ list, listDate, current }: store.StoredList) =>
    list !== null && current && now().getTime() - listDate!.getTime() < listRenewedMs

  /** One at a time in this process, and without a lock or a connection while the thread works: a long list takes seconds. */
  async function listOf(authority: store.AuthorityRow): Promise<RevocationList> {
    for (;;) {
      const known = await store.findList(db.sql, authority.tenantId)
      if (!known) throw NoRevocationList({ id: authority.id })
      if (isGood(known)) return { bytes: known.list!, number: known.listNumber }
      // What another request makes may lack what changed after it began: looked at again.
      await once(authority.id, () => makeList(authority, known))
    }
  }

  async function makeList({ tenantId, certificate, sealedKey }: store.AuthorityRow, known: store.StoredList) {
    const date = toSecond(now())
    const entries =
      tenantId === store.platformTenant
        ? await store.findRetiredAuthorities(db.sql)
        : await store.findListedCertificates(db.sql, tenantId, date)
    const number = known.listNumber + 1
    const bytes = await workshop.make('makeRevocationList', {
      issuer: { certificate, privateKey: secrets.open(sealedKey) },
      number,
      thisUpdate: date,
      nextUpdate: new Date(date.getTime() + listGoodMs),
      entries,
    })
    await store.saveList(db.sql, tenantId, { bytes, number, date, revision: known.revision })
  }

  return {
    root: async () => (await find(store.platformTenant)).certificate,
    platform: async () => asIssuer(await find(store.platformTenant)),
    async ofTenant(tenantId) {
      const row = await find(tenantId)
      const root = await find(store.platformTenant)
      return { ...asIssuer(row), chain: [row.certificate, root.certificate] }
    },
    rootList: async () => await listOf(await find(store.platformTenant)),
    async listOf(authorityId) {
      const authority = await store.findAuthorityById(db.sql, authorityId)
      if (!authority) throw NoRevocationList({ id: authorityId })
      return await listOf(authority)
    },
  }
}
