/**
 * Signs download links. The signature is the sealed description of the link. Only the platform can create it, and it is valid for one
 * content of one version. All nodes share the key, and a restore keeps it.
 */
import type { Secrets } from '../../kernel/secrets.ts'

export interface Linked {
  applicationName: string
  version: string
  fileId: string
}

const purpose = 'software-file'

export const pathOfFile = ({ applicationName, version }: Pick<Linked, 'applicationName' | 'version'>) =>
  `/applications/${encodeURIComponent(applicationName)}/software/${encodeURIComponent(version)}/file`

export function signedLink(
  secrets: Pick<Secrets, 'seal'>,
  base: string,
  { applicationName, version, fileId }: Linked,
  expires: number,
): string {
  const signature = secrets.seal([purpose, applicationName, version, fileId, expires].join('\n'))
  return `${base}/otao/api/v1${pathOfFile({ applicationName, version })}?expires=${expires}&signature=${signature}`
}

/** Returns the file of a link, or undefined if the signature is wrong or expired. */
export function verifyLink(
  secrets: Pick<Secrets, 'open'>,
  { applicationName, version }: Pick<Linked, 'applicationName' | 'version'>,
  { expires, signature }: { expires: string; signature: string },
  nowSeconds: number,
): string | undefined {
  // In base64, several texts can represent the same bytes. Only the text that was issued is accepted.
  const encoded = signature.slice(signature.lastIndexOf('.') + 1)
  if (Buffer.from(encoded, 'base64url').toString('base64url') !== encoded) return undefined
  let parts: string[]
  try {
    parts = secrets.open(signature).split('\n')
  } catch {
    // Any text can be sent as a signature. If it cannot be opened, the platform did not create it.
    return undefined
  }
  const [forPurpose, forApplication, forVersion, fileId, until] = parts
  const isRight =
    forPurpose === purpose && forApplication === applicationName && forVersion === version && until === expires
  return isRight && Number(until) >= nowSeconds ? fileId : undefined
}
