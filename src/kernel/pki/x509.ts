/**
 * Creates certificates and revocation lists. It runs in a worker thread (worker.ts), because loading the library takes 0.2 s and a long
 * revocation list takes seconds.
 */
import 'reflect-metadata'
import { sign, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import * as asn from '@peculiar/asn1-x509'
import * as x509 from '@peculiar/x509'
import { never, toSecond } from './certificate-fields.ts'

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const ecdsaWithSha256 = '1.2.840.10045.4.3.2'

export interface Issuer {
  /** PEM, like all certificates and keys in this file. */
  certificate: string
  privateKey: string
  /** URL of the authority's revocation list, if it publishes one. */
  listAddress?: string
}

export interface CertificateAndKey {
  certificate: string
  privateKey: string
}

interface Subject {
  /** The serial number as a decimal text. */
  serialNumber: string
  notBefore: Date
}

const toHex = (serialNumber: string) => BigInt(serialNumber).toString(16).padStart(32, '0')

const newKeys = async () =>
  (await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])) as unknown as CryptoKeyPair

type CryptoKeyPair = x509.X509CertificateCreateSelfSignedParams['keys']

async function exportKey(keys: CryptoKeyPair): Promise<string> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey as never)
  return `${x509.PemConverter.encode(bytes, x509.PemConverter.PrivateKeyTag)}\n`
}

const importKey = async (pem: string) =>
  (await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ecdsa, false, [
    'sign',
  ])) as unknown as CryptoKeyPair['privateKey']

/** Marks a value as text, because the library parses values that start with `#` as DER. */
const part = (text: string) => [{ utf8String: text }]

const pemOf = (certificate: x509.X509Certificate) => `${certificate.toString('pem').trim()}\n`

/** Creates a certificate authority. With `issuer` it is the authority of a tenant, otherwise a root. */
export async function makeAuthority(
  subject: Subject & { commonName: string; unit?: string; issuer?: Issuer },
): Promise<CertificateAndKey & { invalidAfter: Date }> {
  const keys = await newKeys()
  const name = new x509.Name([
    { O: part('Waypost') },
    ...(subject.unit === undefined ? [] : [{ OU: part(subject.unit) }]),
    { CN: part(subject.commonName) },
  ])
  const common = {
    serialNumber: toHex(subject.serialNumber),
    notBefore: subject.notBefore,
    notAfter: never,
    signingAlgorithm: ecdsa,
    extensions: [
      // The path length allows tenants' authorities below a root. Below a tenant's authority, it allows no further authority.
      new x509.BasicConstraintsExtension(true, subject.issuer ? 0 : 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  }
  const certificate = subject.issuer
    ? await signed({ ...common, subject: name, publicKey: keys.publicKey }, subject.issuer)
    : await x509.X509CertificateGenerator.createSelfSigned({ ...common, name, keys })
  return { certificate: pemOf(certificate), privateKey: await exportKey(keys), invalidAfter: never }
}

/** Creates a client certificate. With `hosts`, creates a server certificate. */
export async function makeCertificate(
  subject: Subject & { commonName: string; notAfter: Date; issuer: Issuer; hosts?: string[] },
): Promise<CertificateAndKey> {
  const keys = await newKeys()
  const usage = subject.hosts ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth
  const certificate = await signed(
    {
      serialNumber: toHex(subject.serialNumber),
      notBefore: subject.notBefore,
      notAfter: subject.notAfter,
      subject: new x509.Name([{ CN: part(subject.commonName) }]),
      publicKey: keys.publicKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ...(subject.hosts ? [new x509.SubjectAlternativeNameExtension(subject.hosts.map(nameOf))] : []),
      ],
    },
    subject.issuer,
  )
  return { certificate: pemOf(certificate), privateKey: await exportKey(keys) }
}

const nameOf = (host: string) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })

async function signed(
  certificate: Pick<x509.X509CertificateCreateParams, 'serialNumber' | 'notBefore' | 'notAfter' | 'subject'> & {
    publicKey: CryptoKeyPair['publicKey']
    extensions: x509.Extension[]
  },
  by: Issuer,
) {
  const authority = new x509.X509Certificate(by.certificate)
  return await x509.X509CertificateGenerator.create({
    ...certificate,
    issuer: authority.subjectName,
    signingAlgorithm: ecdsa,
    signingKey: await importKey(by.privateKey),
    extensions: [
      ...certificate.extensions,
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
      ...(by.listAddress === undefined ? [] : [new x509.CRLDistributionPointsExtension([by.listAddress])]),
    ],
  })
}

export interface ListEntry {
  serialNumber: string
  date: Date
  isOnHold: boolean
}

/**
 * Creates a revocation list in DER. The generator of @peculiar/x509 takes quadratic time: 160 s for 20,000 entries. This function takes 3
 * s.
 */
export function makeRevocationList(contents: {
  issuer: CertificateAndKey
  number: number
  thisUpdate: Date
  nextUpdate: Date
  entries: ListEntry[]
}): Uint8Array {
  const authority = AsnConvert.parse(x509.PemConverter.decodeFirst(contents.issuer.certificate), asn.Certificate)
  const keyIdentifier = authority.tbsCertificate.extensions?.find(
    ({ extnID }) => extnID === asn.id_ce_subjectKeyIdentifier,
  )
  const algorithm = new asn.AlgorithmIdentifier({ algorithm: ecdsaWithSha256 })
  const list = new asn.TBSCertList({
    version: asn.Version.v2,
    signature: algorithm,
    issuer: authority.tbsCertificate.subject,
    thisUpdate: new asn.Time(contents.thisUpdate),
    nextUpdate: new asn.Time(contents.nextUpdate),
    crlExtensions: new asn.Extensions([
      extension(
        asn.id_ce_authorityKeyIdentifier,
        new asn.AuthorityKeyIdentifier({
          keyIdentifier: AsnConvert.parse(keyIdentifier!.extnValue, asn.SubjectKeyIdentifier),
        }),
      ),
      extension(asn.id_ce_cRLNumber, new asn.CRLNumber(contents.number)),
    ]),
  })
  const hold = extension(asn.id_ce_cRLReasons, new asn.CRLReason(asn.CRLReasons.certificateHold))
  // RFC 5280, 5.1.2.6: an empty list is omitted.
  if (contents.entries.length > 0)
    list.revokedCertificates = contents.entries.map(
      ({ serialNumber, date, isOnHold }) =>
        new asn.RevokedCertificate({
          userCertificate: Uint8Array.from(Buffer.from(toHex(serialNumber), 'hex')).buffer,
          revocationDate: new asn.Time(toSecond(date)),
          ...(isOnHold && { crlEntryExtensions: [hold] }),
        }),
    )
  const bytes = AsnConvert.serialize(list)
  const signature = sign('sha256', Buffer.from(bytes), contents.issuer.privateKey)
  return new Uint8Array(
    AsnConvert.serialize(
      new asn.CertificateList({
        tbsCertList: list,
        tbsCertListRaw: bytes,
        signatureAlgorithm: algorithm,
        signature: Uint8Array.from(signature).buffer,
      }),
    ),
  )
}

const extension = (extnID: string, value: object) =>
  new asn.Extension({ extnID, critical: false, extnValue: new OctetString(AsnConvert.serialize(value)) })
