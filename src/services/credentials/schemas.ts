import { DateTime, Empty, Name, type Static, Type } from '../../kernel/schema.ts'
import { credentialStates, targetStates } from './states.ts'

// ── texts

// Only printable ASCII is allowed. MQTT advises against control characters in texts, and receivers may reject them. A username also
// contains neither `:`, which ends the username in HTTP Basic, nor `@`, which ends it in MQTT.
export const usernamePattern = '^[ -9;-?A-~]{1,255}$'
export const passwordPattern = '^[ -~]{1,72}$' // bcrypt ignores everything after 72 bytes
const printable = '^[ -~]+$'

const username = Name({
  pattern: usernamePattern,
  description:
    'Username: 1 to 255 printable ASCII characters without `:` and `@`; unique in the tenant. Default: generated.',
})
const password = Name({
  pattern: passwordPattern,
  maxLength: 72,
  description: 'Password: 1 to 72 printable ASCII characters. Default: generated.',
})

// ── resources

const state = Type.Enum([...credentialStates], {
  description:
    'Inactive: valid and never used; the first successful use makes it Active. Active: valid and in use. ' +
    'Suspended: rejected until it is Active again. Revoked: rejected for ever.',
})
const dates = {
  createdDate: DateTime({ description: 'Time at which the credentials were created, in UTC.' }),
  updatedDate: DateTime({ description: 'Time of the last change of the state or the password, in UTC.' }),
  lastUseDate: Type.Optional(
    DateTime({
      description:
        'Last successful authentication, in UTC, exact to the minute. Omitted if the credentials were never used.',
    }),
  ),
}
const id = Name({ description: 'Id of the credentials.' })
const basic = {
  id,
  username: Name({ description: 'Username; an MQTT client sends `<username>@<tenant id>`.' }),
  state,
  ...dates,
}
const certificate = {
  id,
  state,
  serialNumber: Name({ description: 'Serial number of the certificate as a decimal number.' }),
  commonName: Name({ description: 'Common name in the subject of the certificate.' }),
  invalidAfter: DateTime({ description: 'Time at which the certificate expires, in UTC.' }),
  ...dates,
}
const pem = (description: string, more = '') => Type.String({ description: `${description}, as PEM.${more}` })

export const BasicCredential = Type.Object(basic, {
  title: 'BasicCredential',
  description: 'Username and password of clients, without the password.',
})
export type BasicCredential = Static<typeof BasicCredential>
const shownPassword = Type.String({ description: 'The password. Only this response shows it.' })
const NewBasicCredential = Type.Object(
  { ...basic, password: shownPassword },
  { title: 'CreatedBasicCredential', description: 'New basic credentials with their password.' },
)
export type NewBasicCredential = Static<typeof NewBasicCredential>
export const CertificateCredential = Type.Object(certificate, {
  title: 'X509Credential',
  description: 'A client certificate, without the certificate itself.',
})
export type CertificateCredential = Static<typeof CertificateCredential>
const IssuedCertificate = Type.Object(
  {
    ...certificate,
    certificate: pem('The client certificate'),
    certificateChain: pem(
      'The client certificate, the certificate authority of the tenant and the certificate authority of the platform, one after the other',
    ),
    caChain: Type.Array(pem('A certificate authority'), {
      description: 'Certificate authority of the tenant, then the certificate authority of the platform.',
    }),
    issuingCa: pem('Certificate authority of the tenant, which issued the certificate'),
    privateKey: pem('Private key (PKCS #8)', ' Only this response shows it, and the platform does not keep it.'),
  },
  { title: 'IssuedX509Credential', description: 'A new client certificate with its private key.' },
)
export type IssuedCertificate = Static<typeof IssuedCertificate>

// ── operations

const ofCredential = Type.Object({ id })
const none = { 204: Empty() }
const noCredentials = 'The tenant has no credentials with this id, or the caller may not read them.'
const moveTo = Type.Object(
  {
    state: Type.Enum([...targetStates], {
      description:
        'The new state: Active resumes suspended credentials, Suspended pauses the credentials, Revoked ends the credentials for ever.',
    }),
  },
  {
    title: 'CredentialState',
    description: 'The state that credentials get.',
    examples: [{ state: 'Revoked' }],
  },
)
const moves =
  'Allowed transitions: Active to Suspended, Suspended to Active, and any state to Revoked, which is final. Setting the state ' +
  'that the credentials already have changes nothing. Connections that used suspended or revoked credentials are closed.'
const moveFails = {
  400: 'The state is missing or unknown, or the credentials cannot go from their present state to this state.',
  404: noCredentials,
}

export const listBasic = {
  name: 'basicCredentials.list',
  summary: 'List the basic credentials of the tenant',
  response: { 200: Type.Array(BasicCredential, { description: 'All basic credentials of the tenant.' }) },
}
export const readBasic = {
  name: 'basicCredentials.get',
  summary: 'Get basic credentials',
  params: ofCredential,
  response: { 200: BasicCredential },
  fails: { 404: noCredentials },
}
export const createBasic = {
  name: 'basicCredentials.create',
  summary: 'Create basic credentials',
  description:
    'An absent username or password is generated; an empty body is accepted. An MQTT client sends `<username>@<tenant id>` as its username.',
  body: Type.Object(
    { username: Type.Optional(username), password: Type.Optional(password) },
    {
      title: 'NewBasicCredential',
      description: 'Basic credentials to create.',
      examples: [{ username: 'gateway-1' }],
    },
  ),
  response: { 201: NewBasicCredential },
  fails: { 409: 'Another credential of the tenant has this username.' },
}
export const moveBasic = {
  name: 'basicCredentials.state.patch',
  summary: 'Suspend, resume or revoke basic credentials',
  description: moves,
  params: ofCredential,
  body: moveTo,
  response: none,
  fails: moveFails,
}
export const changePassword = {
  name: 'basicCredentials.password.patch',
  summary: 'Change the password of basic credentials',
  description: 'Without `password` a new password is generated; an empty body is accepted. Open connections stay open.',
  params: ofCredential,
  body: Type.Object(
    { password: Type.Optional(password) },
    {
      title: 'BasicCredentialPasswordChange',
      description: 'The password that credentials get.',
      examples: [{}],
    },
  ),
  response: {
    200: Type.Object(
      { password: shownPassword },
      { title: 'BasicCredentialPassword', description: 'The new password.' },
    ),
  },
  fails: { 404: noCredentials },
}
export const deleteBasic = {
  name: 'basicCredentials.delete',
  summary: 'Delete basic credentials',
  description: 'Connections that used the credentials are closed.',
  params: ofCredential,
  response: none,
  fails: { 404: noCredentials },
}

/** Maximum lifetime in seconds. X.509 cannot represent dates after the year 9999. */
const ttlMax = 250_000_000_000

export const listCertificates = {
  name: 'x509Credentials.list',
  summary: 'List the X.509 credentials of the tenant',
  response: { 200: Type.Array(CertificateCredential, { description: 'All X.509 credentials of the tenant.' }) },
}
export const readCertificate = {
  name: 'x509Credentials.get',
  summary: 'Get X.509 credentials',
  params: ofCredential,
  response: { 200: CertificateCredential },
  fails: { 404: noCredentials },
}
export const issueCertificate = {
  name: 'x509Credentials.create',
  summary: 'Issue a client certificate with its private key',
  description:
    'The private key is shown only in this response. The certificate holds the address of its revocation list. An empty body is accepted.',
  body: Type.Object(
    {
      commonName: Type.Optional(
        Name({
          pattern: printable,
          description: 'Common name: 1 to 255 printable ASCII characters. Default: a random UUID.',
        }),
      ),
      ttl: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: ttlMax,
          default: 31_536_000,
          description: 'Lifetime of the certificate in seconds. Default: 31536000 (one year).',
        }),
      ),
    },
    {
      title: 'NewX509Credential',
      description: 'A client certificate to issue.',
      examples: [{ commonName: 'gateway-1', ttl: 31_536_000 }],
    },
  ),
  response: { 201: IssuedCertificate },
}
export const moveCertificate = {
  name: 'x509Credentials.state.patch',
  summary: 'Suspend, resume or revoke X.509 credentials',
  description: `${moves} The revocation list names suspended and revoked certificates.`,
  params: ofCredential,
  body: moveTo,
  response: none,
  fails: moveFails,
}

// ── for clients that verify certificates of the platform

export const readRoot = {
  name: 'certificates.root.download',
  summary: "Download the platform's root certificate",
  response: { 200: Type.String({ description: 'The certificate as PEM (`application/x-pem-file`).' }) },
}
const list = Type.String({ description: 'The certificate revocation list in DER (`application/pkix-crl`).' })
export const readRootList = {
  name: 'certificates.revocationList.download',
  summary: "Download the revocation list of the platform's certificate authority",
  response: { 200: list, 304: Empty() },
}
export const readTenantList = {
  name: 'certificates.authorities.revocationList.download',
  summary: "Download the revocation list of a tenant's certificate authority",
  params: Type.Object({
    authorityId: Name({ description: 'Id of the certificate authority, from the address in the certificate.' }),
  }),
  response: { 200: list, 304: Empty() },
  fails: { 404: 'There is no certificate authority with this id.' },
}
