/**
 * Provides the certificate of a TLS listener. It is read from the operator's files, and again when they change. Without such files, the
 * platform's certificate authority issues the certificate and renews it 30 days before it expires.
 */
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { certificateRenewalFailed } from './log-messages.ts'
import { ConfigurationError } from './settings.ts'

export interface ServerCertificate {
  /** True if the operator provides the certificate. */
  fromFiles: boolean
  current(): Promise<SecureContextOptions>
  /** Calls the function with every renewed certificate, until the returned function is called. */
  onRenewal(take: (context: SecureContextOptions) => void): () => void
}

/** An authority that issues certificates. The credentials service implements it. */
export interface CertificateAuthority {
  rootCertificate(): Promise<string>
  issueServerCertificate(server: {
    hosts: string[]
    ttlSeconds: number
  }): Promise<{ certificateChain: string; privateKey: string; invalidAfter: Date }>
}

export interface ServerCertificateOptions {
  /** Prefix of the settings `…_CERTIFICATE_FILE` and `…_KEY_FILE`, such as HTTPS. */
  settings: string
  certificateFile: string | undefined
  keyFile: string | undefined
  /** Names and addresses of a certificate that the platform issues. */
  hosts: () => string[]
  /** True if clients may present certificates of the platform's authority. */
  acceptsClientCertificates: boolean
  log: Log
  now: Clock
}

const ttlSeconds = 90 * 24 * 3600
const renewBeforeMs = 30 * 24 * 3600 * 1000
const checkIssuedEveryMs = 3600 * 1000
const checkFilesEveryMs = 2000

export function createServerCertificate(
  options: ServerCertificateOptions,
  authority: CertificateAuthority,
): ServerCertificate {
  const { certificateFile, keyFile, settings, log, now } = options
  const fromFiles = certificateFile !== undefined || keyFile !== undefined
  let fileVersion: string | undefined
  let invalidAfter: Date | undefined

  function versionOfFiles(): string {
    const versions = [certificateFile!, keyFile!].map((file) => {
      const { mtimeMs, ino, size } = statSync(file, { throwIfNoEntry: false }) ?? {}
      return `${mtimeMs} ${ino} ${size}`
    })
    return versions.join(', ')
  }

  function readFiles(): SecureContextOptions {
    const names = `WAYPOST_${settings}_CERTIFICATE_FILE and WAYPOST_${settings}_KEY_FILE`
    if (certificateFile === undefined || keyFile === undefined)
      throw new ConfigurationError(`${names} belong together: set both or none`)
    // `fileVersion` is set before the files are read. If the files change in between, the next check finds that. A faulty pair of files is
    // reported only once, because its version is known then.
    fileVersion = versionOfFiles()
    try {
      const context = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) }
      createSecureContext(context)
      return context
    } catch (error) {
      throw new ConfigurationError(`${names}: ${(error as Error).message}`)
    }
  }

  async function loadContext(): Promise<SecureContextOptions> {
    // The handshake sends the names of these authorities, so that clients can choose a certificate.
    const ca = options.acceptsClientCertificates ? { ca: await authority.rootCertificate() } : {}
    if (fromFiles) return { ...ca, ...readFiles() }
    const issued = await authority.issueServerCertificate({ hosts: options.hosts(), ttlSeconds })
    invalidAfter = issued.invalidAfter
    return { ...ca, cert: issued.certificateChain, key: issued.privateKey }
  }

  const isDue = () =>
    fromFiles
      ? versionOfFiles() !== fileVersion
      : invalidAfter !== undefined && invalidAfter.getTime() - now().getTime() < renewBeforeMs

  return {
    fromFiles,
    current: loadContext,
    onRenewal(take) {
      const renewIfDue = async () => {
        try {
          if (isDue()) take(await loadContext())
        } catch (error) {
          certificateRenewalFailed(log, { err: error, listener: settings.toLowerCase() })
        }
      }
      const timer = setInterval(() => void renewIfDue(), fromFiles ? checkFilesEveryMs : checkIssuedEveryMs)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}

/** Returns the host names and addresses for a certificate, the public name first. */
export function hostsOf(baseUrl: string, listenHost: string, more: (publicHost: string) => string[]): string[] {
  const listenHosts = listenHost === '0.0.0.0' || listenHost === '::' ? [] : [listenHost]
  const publicHost = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  return [...new Set([publicHost, ...more(publicHost), ...listenHosts, 'localhost', '127.0.0.1', '::1'])]
}
