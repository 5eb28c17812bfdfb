/** Certificate authorities of the VPN: its own root, which signs the server's certificate, and an authority below it for each tenant. */
import { randomBytes, X509Certificate } from 'node:crypto'
import type { Kit } from '../../../kernel/define-service.ts'
import { never, newSerialNumber, toSecond } from '../../../kernel/pki/certificate-fields.ts'
import type { PkiWorker } from '../../../kernel/pki/worker.ts'
import type { CertificateAndKey } from '../../../kernel/pki/x509.ts'
import { addressNumber, addressText, isInNetwork, rangeCount, rangeSize } from '../addresses.ts'
import { NoVpnRange, VpnRangeOutside } from '../errors.ts'
import type { VpnSettings } from '../settings.ts'
import * as store from '../store/tenants.ts'

/** The root authority of the VPN, and the keys and certificate of its server. */
export interface Installation {
  root: CertificateAndKey
  tlsCrypt: string
  server: CertificateAndKey
}

export interface TenantAuthority extends CertificateAndKey {
  tenantId: string
}

export interface Authorities {
  installation(): Promise<Installation>
  /** Returns the authority of a tenant. The first call creates it and assigns an address range to the tenant. */
  ofTenant(tenantId: string): Promise<TenantAuthority>
  issue(authority: TenantAuthority, commonName: string): Promise<IssuedCertificate>
}

export interface IssuedCertificate extends CertificateAndKey {
  serialNumber: string
  fingerprint: string
  invalidAfter: Date
}

/** Common name of the server's certificate. */
export const serverName = 'waypost-vpn'

/** Minimum time before the range of a deleted tenant is assigned to another tenant. Connections of the deleted tenant end much earlier. */
const rangeRestSeconds = 60
/** The server's certificate is renewed this number of days before it expires, or at half of its lifetime if that is later. */
const renewedDays = 30

/** Returns the SHA-256 of a certificate as hexadecimal digits without colons. OpenVPN reports it with colons. */
export const fingerprintOf = (certificate: string) =>
  new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase()

export function createAuthorities(
  { db, now, newId, secrets, settings }: Pick<Kit<VpnSettings>, 'db' | 'now' | 'newId' | 'secrets' | 'settings'>,
  worker: PkiWorker,
): Authorities {
  const dates = () => {
    const notBefore = toSecond(now())
    const days = settings.certificateDays
    return { notBefore, notAfter: days === 0 ? never : new Date(notBefore.getTime() + days * 86_400_000) }
  }

  async function issueForServer(root: CertificateAndKey) {
    const { notBefore, notAfter } = dates()
    const serverPair = await worker.make('makeCertificate', {
      ...{ serialNumber: newSerialNumber(), commonName: serverName, notBefore, notAfter, issuer: root },
      hosts: [serverName],
    })
    return {
      serverCertificate: serverPair.certificate,
      sealedServerKey: secrets.seal(serverPair.privateKey),
      serverInvalidAfter: notAfter,
    }
  }

  /** Creates the root, the `tls-crypt` key and the server's certificate. If several nodes do so concurrently, the first insert wins. */
  async function createInstallation(): Promise<store.InstallationRow> {
    const root = await worker.make('makeAuthority', {
      serialNumber: newSerialNumber(),
      notBefore: toSecond(now()),
      commonName: `Waypost VPN CA ${newId()}`,
    })
    await store.insertInstallation(db.sql, {
      certificate: root.certificate,
      sealedKey: secrets.seal(root.privateKey),
      sealedTlsCrypt: secrets.seal(newTlsCryptKey()),
      ...(await issueForServer(root)),
    })
    return (await store.findInstallation(db.sql))!
  }

  async function installation(): Promise<Installation> {
    let row = (await store.findInstallation(db.sql)) ?? (await createInstallation())
    const root = { certificate: row.certificate, privateKey: secrets.open(row.sealedKey) }
    const renewedMs = Math.min(renewedDays, (settings.certificateDays || renewedDays) / 2) * 86_400_000
    if (row.serverInvalidAfter.getTime() - now().getTime() < renewedMs) {
      await store.updateServerCertificate(db.sql, await issueForServer(root))
      row = (await store.findInstallation(db.sql))!
    }
    return {
      root,
      tlsCrypt: secrets.open(row.sealedTlsCrypt),
      server: { certificate: row.serverCertificate, privateKey: secrets.open(row.sealedServerKey) },
    }
  }

  async function createTenant(tenantId: string): Promise<store.TenantRow> {
    const { root } = await installation()
    const serialNumber = newSerialNumber()
    const { certificate, privateKey } = await worker.make('makeAuthority', {
      ...{ serialNumber, notBefore: toSecond(now()), issuer: root, unit: tenantId },
      commonName: `Waypost VPN tenant CA ${newId()}`,
    })
    const row = {
      ...{ tenantId, certificate, serialNumber, fingerprint: fingerprintOf(certificate) },
      sealedKey: secrets.seal(privateKey),
    }
    await db.tx((sql) =>
      store.insertTenant(sql, row, {
        networkStart: addressText(settings.network.first),
        rangeCount: rangeCount(settings.network),
        rangeSize,
        restSeconds: rangeRestSeconds,
      }),
    )
    const stored = await store.findTenant(db.sql, tenantId)
    if (!stored) throw NoVpnRange()
    return stored
  }

  return {
    installation,
    async ofTenant(tenantId) {
      const row = (await store.findTenant(db.sql, tenantId)) ?? (await createTenant(tenantId))
      if (!isInNetwork(settings.network, addressNumber(row.rangeStart)))
        throw VpnRangeOutside({ range: `${row.rangeStart}/20` })
      return { tenantId, certificate: row.certificate, privateKey: secrets.open(row.sealedKey) }
    },
    async issue(issuer, commonName) {
      const [serialNumber, { notBefore, notAfter }] = [newSerialNumber(), dates()]
      const issued = await worker.make('makeCertificate', { serialNumber, commonName, notBefore, notAfter, issuer })
      return { ...issued, serialNumber, fingerprint: fingerprintOf(issued.certificate), invalidAfter: notAfter }
    },
  }
}

/** Creates a key for `tls-crypt` in the format of `openvpn --genkey`. */
function newTlsCryptKey(): string {
  const lines = randomBytes(256).toString('hex').match(/.{32}/g)!
  return ['-----BEGIN OpenVPN Static key V1-----', ...lines, '-----END OpenVPN Static key V1-----', ''].join('\n')
}
