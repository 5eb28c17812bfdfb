import { defineEvent } from '../../kernel/bus.ts'
import type { CredentialState } from './states.ts'

/** Identifies credentials. Basic credentials have a username; X.509 credentials have a serial number in decimal. */
export type CredentialEvent = { tenantId: string; credentialId: string } & (
  | { kind: 'basic'; username: string }
  | { kind: 'x509'; serialNumber: string }
)

// Events of one credential are delivered in order. Events of different credentials do not wait for each other.
const key = ({ credentialId }: { credentialId: string }) => credentialId

export const CredentialCreated = defineEvent<CredentialEvent>('credentials.credential.created', {
  description: 'Basic credentials were created or a client certificate was issued',
  key,
})
export const CredentialStateChanged = defineEvent<CredentialEvent & { from: CredentialState; to: CredentialState }>(
  'credentials.credential.state-changed',
  {
    description:
      'The state of client credentials changed (22/CAP); Suspended and Revoked end every connection that was ' +
      'authenticated with them',
    key,
  },
)
export const CredentialPasswordChanged = defineEvent<CredentialEvent>('credentials.credential.password-changed', {
  description: 'The password of basic credentials changed; open connections are kept',
  key,
})
export const CredentialDeleted = defineEvent<CredentialEvent>('credentials.credential.deleted', {
  description: 'Basic credentials were deleted; connections that were authenticated with them end',
  key,
})
export const TenantCredentialsDeleted = defineEvent<{ tenantId: string }>('credentials.tenant.forgotten', {
  description: 'All credentials and the certificate authority of a deleted tenant were deleted',
})
export const CertificateExpiresSoon = defineEvent<{
  tenantId: string
  credentialId: string
  commonName: string
  serialNumber: string
  /** ISO 8601. */
  invalidAfter: string
}>('credentials.certificate.expires-soon', {
  description: 'A client certificate that is not revoked expires within 30 days; published once for each certificate',
  key,
})
