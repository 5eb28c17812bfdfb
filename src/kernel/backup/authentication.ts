/**
 * Proves which installation made a backup. The file ends with an HMAC over its checksum; the key is derived from the master key. Only an
 * installation with that master key can make a backup that `waypost restore` accepts without a flag (ADR 8).
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { BackupError } from './errors.ts'
import type { Verified } from './read.ts'

/** Derives the key for authentication tags. If this key leaks, the master key and the sealed secrets stay safe. */
export const backupKeyOf = (masterKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, 'waypost', 'authentication of backups', 32))

/** Returns an id of the key, from which the key cannot be derived. */
export const keyIdOf = (key: Buffer): string => createHmac('sha256', key).update('key id').digest('hex').slice(0, 16)

/** Returns the authentication tag of a backup; `digest` is the SHA-256 of everything before it in the file. */
export const tagOf = (key: Buffer, digest: Buffer): Buffer =>
  createHmac('sha256', key).update('backup 3').update(digest).digest()

/** Throws a BackupError unless the file was made with this key and has not been changed since. */
export function authenticate(path: string, { manifest, seal }: Verified, key: Buffer) {
  if (!seal)
    throw new BackupError(
      `${path} has no authentication tag: an older Waypost made it, or the tag was removed. ` +
        'Nothing was changed; if you trust its origin, restore it with --unauthenticated',
    )
  if (timingSafeEqual(tagOf(key, seal.digest), seal.tag)) return
  const [fileKeyId, ownKeyId] = [manifest.keyId, keyIdOf(key)]
  if (fileKeyId === ownKeyId)
    throw new BackupError(
      `${path} was changed after it was made: its authentication tag does not match. Nothing was changed; use another copy`,
    )
  throw new BackupError(
    `${path} was made with another master key (${fileKeyId ?? 'unknown'}, this installation has ${ownKeyId}). Nothing was changed; name a file ` +
      'with the right key with --key-file, or skip the check with --unauthenticated',
  )
}
