import type { X509Certificate } from 'node:crypto'
import { contract } from '../../kernel/contract.ts'

/**
 * What the devices' door asks when a client connects. A credential that is suspended, revoked or deleted afterwards
 * is told by CredentialStateChanged, CredentialDeleted and TenantCredentialsDeleted (events.ts). Whether the tenant
 * itself may talk, and how often one address may fail, is for whoever asks to decide: it holds for clients without
 * credentials too.
 */
export interface Credentials {
  /**
   * Undefined for anything wrong: no such username, another password, suspended, revoked, or locked after too many
   * wrong passwords. The first success makes Inactive Active. Throws HashingBusy (429) when too many different passwords wait
   * for their check; passwords checked before are answered from memory and never wait.
   */
  verifyBasic(client: {
    tenantId: string
    username: string
    password: string
  }): Promise<{ credentialId: string } | undefined>
  /**
   * By issuer and serial number; also checks our signature and the dates, so the handshake need not have verified the
   * chain (a client may send its certificate alone), only that the client holds the key, as every handshake does.
   */
  verifyCertificate(
    certificate: X509Certificate,
  ): Promise<{ tenantId: string; credentialId: string; invalidAfter: Date } | undefined>
  /** Whose authority has signed it, whatever its state and dates: its tenant is told of a client that is turned away. */
  tenantOfCertificate(certificate: X509Certificate): Promise<string | undefined>
  /** PEM of the platform's certificate authority: the root of every client certificate, made on first need. */
  rootCertificate(): Promise<string>
  /** For a TLS door without a certificate of its own: signed by the root that devices can download. The key is not kept. */
  issueServerCertificate(server: {
    /** Names and IP addresses; the first is the common name. */
    hosts: string[]
    ttlSeconds: number
  }): Promise<{ certificateChain: string; privateKey: string; invalidAfter: Date }>
}
export const Credentials = contract<Credentials>('credentials')
