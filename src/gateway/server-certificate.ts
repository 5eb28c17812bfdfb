/**
 * Provides the certificate of the TLS listener: from the operator's files, read again when they change, or issued by the platform's
 * certificate authority and renewed 30 days before it expires.
 */
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Kit } from '../kernel/define-service.ts'
import type { Credentials } from '../services/credentials/contract.ts'
import { certificateRenewalFailed } from './log-messages.ts'
import type { GatewaySettings } from './settings.ts'

export interface ServerCertificate {
  /** Whether the operator provides the certificate. */
  fromFiles: boolean
  current(): Promise<SecureContextOptions>
  /** Checks every hour and passes a renewed certificate to the function, until the returned function is called. */
  onRenewal(take: (context: SecureContextOptions) => void): () => void
}

const ttlSeconds = 90 * 24 * 3600
const renewBeforeMs = 30 * 24 * 3600 * 1000
const checkEveryMs = 3600 * 1000

export function createServerCertificate(
  {
    settings,
    platform,
    baseUrl,
    log,
    now,
  }: Pick<Kit<GatewaySettings>, 'settings' | 'platform' | 'baseUrl' | 'log' | 'now'>,
  credentials: Pick<Credentials, 'rootCertificate' | 'issueServerCertificate'>,
): ServerCertificate {
  const { certificateFile, keyFile } = settings
  const fromFiles = certificateFile !== undefined || keyFile !== undefined
  const { host } = platform
  let fileVersion: string | undefined
  let invalidAfter: Date | undefined

  function versionOfFiles(): string {
    return [certificateFile!, keyFile!].map((file) => statSync(file).mtimeMs).join(' ')
  }

  async function loadContext(): Promise<SecureContextOptions> {
    // The handshake sends the names of these authorities, so that clients can choose a certificate.
    const ca = await credentials.rootCertificate()
    if (fromFiles) {
      if (certificateFile === undefined || keyFile === undefined)
        throw new Error('WAYPOST_MQTTS_CERTIFICATE_FILE and WAYPOST_MQTTS_KEY_FILE belong together: set both or none')
      fileVersion = versionOfFiles()
      return { ca, cert: readFileSync(certificateFile), key: readFileSync(keyFile) }
    }
    const issued = await credentials.issueServerCertificate({
      hosts: hostsOf(baseUrl(), host, settings.certificateHosts),
      ttlSeconds,
    })
    invalidAfter = issued.invalidAfter
    return { ca, cert: issued.certificateChain, key: issued.privateKey }
  }

  const isDue = () =>
    certificateFile === undefined
      ? invalidAfter !== undefined && invalidAfter.getTime() - now().getTime() < renewBeforeMs
      : versionOfFiles() !== fileVersion

  return {
    fromFiles,
    current: loadContext,
    onRenewal(take) {
      const renewIfDue = async () => {
        try {
          if (isDue()) take(await loadContext())
        } catch (error) {
          certificateRenewalFailed(log, { err: error })
        }
      }
      const timer = setInterval(() => void renewIfDue(), checkEveryMs)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}

/** Returns the host names and addresses of the certificate, the public name first. */
export function hostsOf(baseUrl: string, host: string, more: string[] = []): string[] {
  const listenHost = host === '0.0.0.0' || host === '::' ? [] : [host]
  const publicHost = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  // Existing devices connect to a name of its own for MQTT.
  const forMqtt = isIP(publicHost) || publicHost === 'localhost' ? [] : [`mqtt.${publicHost}`]
  return [...new Set([publicHost, ...forMqtt, ...more, ...listenHost, 'localhost', '127.0.0.1', '::1'])]
}
