import type { X509Certificate } from 'node:crypto'
import { contract } from '../../kernel/contract.ts'

/**
 * Verifies credentials of MQTT clients when they connect. The events CredentialStateChanged, CredentialDeleted and TenantCredentialsDeleted
 * (events.ts) report later changes. The caller checks whether the tenant is available, and limits failures of an address.
 */
export interface Credentials {
  /**
   * Checks a password. Returns undefined if it is wrong, or if the username is unknown, suspended, revoked or locked out. The first success
   * activates Inactive credentials. Throws HashingBusy (429) if the queue of uncached checks is full.
   */
  verifyBasic(client: {
    tenantId: string
    username: string
    password: string
    /** Address of the client. Wrong passwords are counted for each username and address. */
    address: string
  }): Promise<{ credentialId: string } | undefined>
  /**
   * Finds a certificate by issuer and serial number, and checks its signature, expiry and state. Returns undefined if a check fails. The
   * TLS handshake need not verify the chain, because a client may send its certificate alone.
   */
  verifyCertificate(
    certificate: X509Certificate,
  ): Promise<{ tenantId: string; credentialId: string; invalidAfter: Date } | undefined>
  /** Returns the tenant whose authority signed the certificate, even if it is revoked or has expired. This tenant sees the refusal. */
  tenantOfCertificate(certificate: X509Certificate): Promise<string | undefined>
  /** Returns the PEM of the platform's certificate authority, which is the root of client certificates. It is created on first use. */
  rootCertificate(): Promise<string>
  /** Issues a certificate for a TLS listener without certificate files. The platform's authority signs it. The key is not stored. */
  issueServerCertificate(server: {
    /** Host names and IP addresses. The first is the common name. */
    hosts: string[]
    ttlSeconds: number
  }): Promise<{ certificateChain: string; privateKey: string; invalidAfter: Date }>
}
export const Credentials = contract<Credentials>('credentials')
