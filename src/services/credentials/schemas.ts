import { DateTime, Empty, Name, type Static, Type } from '../../kernel/schema.ts'
import { credentialStates, targetStates } from './states.ts'

// ── texts

// Printable ASCII: MQTT advises against control characters in texts, and receivers may refuse them.
export const usernamePattern = '^[ -9;-?A-~]{1,255}$' // all but `:`, which ends it in HTTP Basic, and `@`, which ends it in MQTT
export const passwordPattern = '^[ -~]{1,72}$' // bcrypt looks at no more than 72 bytes
const printable = '^[ -~]+$'

const username = Name({
  pattern: usernamePattern,
  description: 'Up to 255 printable ASCII characters without `:` and `@`; generated when absent',
})
const password = Name({
  pattern: passwordPattern,
  maxLength: 72,
  description: 'Up to 72 printable ASCII characters; generated when absent',
})

// ── resources

const state = Type.Enum([...credentialStates], {
  description: 'Inactive: never used; the first use makes it Active. Suspended: refused for now. Revoked: for ever',
})
const dates = {
  createdDate: DateTime(),
  updatedDate: DateTime(),
  lastUseDate: Type.Optional(DateTime({ description: 'Last successful authentication, to the minute' })),
}
const basic = { id: Name(), username: Name(), state, ...dates }
const certificate = {
  id: Name(),
  state,
  serialNumber: Name({ description: 'Base 10' }),
  commonName: Name(),
  invalidAfter: DateTime(),
  ...dates,
}
const pem = (description: string) => Type.String({ description: `PEM: ${description}` })

export const BasicCredential = Type.Object(basic, { title: 'BasicCredential' })
export type BasicCredential = Static<typeof BasicCredential>
const NewBasicCredential = Type.Object(
  { ...basic, password: Type.String({ description: 'Shown here only' }) },
  { title: 'CreatedBasicCredential' },
)
export type NewBasicCredential = Static<typeof NewBasicCredential>
export const CertificateCredential = Type.Object(certificate, { title: 'X509Credential' })
export type CertificateCredential = Static<typeof CertificateCredential>
const IssuedCertificate = Type.Object(
  {
    ...certificate,
    certificate: pem('the client certificate'),
    certificateChain: pem("the client certificate, the tenant's authority and the platform's, one after the other"),
    caChain: Type.Array(pem("the tenant's authority, then the platform's")),
    issuingCa: pem("the tenant's authority"),
    privateKey: pem('PKCS #8, shown only here and not kept'),
  },
  { title: 'IssuedX509Credential' },
)
export type IssuedCertificate = Static<typeof IssuedCertificate>

// ── operations

const one = Type.Object({ id: Name({ description: 'The id of the credentials' }) })
const none = { 204: Empty() }
const moveTo = Type.Object(
  { state: Type.Enum([...targetStates]) },
  { title: 'CredentialState', examples: [{ state: 'Revoked' }] },
)
const moves =
  'Active ⇄ Suspended, and anything → Revoked, which is the end. Any other move is 400; the state that they have is no move.'

export const listBasic = {
  name: 'basicCredentials.list',
  summary: 'List the basic credentials of the tenant',
  response: { 200: Type.Array(BasicCredential) },
}
export const readBasic = {
  name: 'basicCredentials.get',
  summary: 'Get basic credentials',
  params: one,
  response: { 200: BasicCredential },
}
export const createBasic = {
  name: 'basicCredentials.create',
  summary: 'Create basic credentials',
  description: 'With an empty object both are generated. An MQTT client sends <username>@<tenant> as its username.',
  body: Type.Object(
    { username: Type.Optional(username), password: Type.Optional(password) },
    { title: 'NewBasicCredential', examples: [{ username: 'gateway-1' }] },
  ),
  response: { 201: NewBasicCredential },
  fails: [409],
}
export const moveBasic = {
  name: 'basicCredentials.state.patch',
  summary: 'Suspend, resume or revoke basic credentials',
  description: moves,
  params: one,
  body: moveTo,
  response: none,
}
export const changePassword = {
  name: 'basicCredentials.password.patch',
  summary: 'Change the password of basic credentials',
  description: 'With an empty object it is generated.',
  params: one,
  body: Type.Object({ password: Type.Optional(password) }, { title: 'BasicCredentialPasswordChange', examples: [{}] }),
  response: {
    200: Type.Object(
      { password: Type.String({ description: 'Shown here only' }) },
      { title: 'BasicCredentialPassword' },
    ),
  },
}
export const deleteBasic = {
  name: 'basicCredentials.delete',
  summary: 'Delete basic credentials',
  params: one,
  response: none,
}

/** X.509 cannot say a date after the year 9999. */
const ttlMax = 250_000_000_000

export const listCertificates = {
  name: 'x509Credentials.list',
  summary: 'List the X.509 credentials of the tenant',
  response: { 200: Type.Array(CertificateCredential) },
}
export const readCertificate = {
  name: 'x509Credentials.get',
  summary: 'Get X.509 credentials',
  params: one,
  response: { 200: CertificateCredential },
}
export const issueCertificate = {
  name: 'x509Credentials.create',
  summary: 'Issue a client certificate with its private key',
  description: 'The key is shown here only and not kept. The certificate names the address of its revocation list.',
  body: Type.Object(
    {
      commonName: Type.Optional(
        Name({ pattern: printable, description: 'Up to 255 printable ASCII characters; a UUID when absent' }),
      ),
      ttl: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: ttlMax,
          default: 31_536_000,
          description: 'Seconds from now until the certificate expires',
        }),
      ),
    },
    { title: 'NewX509Credential', examples: [{ commonName: 'gateway-1', ttl: 31_536_000 }] },
  ),
  response: { 201: IssuedCertificate },
}
export const moveCertificate = {
  name: 'x509Credentials.state.patch',
  summary: 'Suspend, resume or revoke X.509 credentials',
  description: `${moves} Revoked and suspended certificates are on the revocation list.`,
  params: one,
  body: moveTo,
  response: none,
}

// ── for whoever verifies our certificates

export const readRoot = {
  name: 'certificates.root.download',
  summary: "Download the platform's root certificate",
  response: { 200: Type.String({ description: 'PEM, as application/x-pem-file' }) },
}
const list = Type.String({ description: 'A certificate revocation list in DER, as application/pkix-crl' })
export const readRootList = {
  name: 'certificates.revocationList.download',
  summary: "Download the revocation list of the platform's certificate authority",
  response: { 200: list, 304: Empty() },
}
export const readTenantList = {
  name: 'certificates.authorities.revocationList.download',
  summary: "Download the revocation list of a tenant's certificate authority",
  params: Type.Object({ authorityId: Name({ description: 'As the certificate names it' }) }),
  response: { 200: list, 304: Empty() },
}
