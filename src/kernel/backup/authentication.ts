/**
 * Who made a backup. A tag keyed from the master key of the installation stands over the checksum of the whole file: without
 * that key nobody can make or change a backup that is restored without being asked for (ADR 8).
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { BackupError } from './format.ts'
import type { Verified } from './read.ts'

/** A key of its own, so that whoever learns it cannot open secrets with it. */
export const backupKeyOf = (masterKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, 'waypost', 'authentication of backups', 32))

/** Names a key without telling it. */
export const keyIdOf = (key: Buffer): string => createHmac('sha256', key).update('key id').digest('hex').slice(0, 16)

/** @param digest the SHA-256 of everything before it in the file */
export const tagOf = (key: Buffer, digest: Buffer): Buffer =>
  createHmac('sha256', key).update('backup 3').update(digest).digest()

/** Throws a BackupError unless the file was made with this key and is as it was made. */
export function authenticate(path: string, { manifest, seal }: Verified, key: Buffer) {
  if (!seal)
    throw new BackupError(
      `${path} has no authentication tag: an older Waypost made it, or somebody took the tag away. ` +
        'Nothing was changed; --unauthenticated restores it if you know where it comes from',
    )
  if (timingSafeEqual(tagOf(key, seal.digest), seal.tag)) return
  const [theirs, ours] = [manifest.keyId, keyIdOf(key)]
  if (theirs === ours)
    throw new BackupError(
      `${path} was changed after it was made: its authentication tag does not match. Nothing was changed; use another copy`,
    )
  throw new BackupError(
    `${path} was made with another master key (${theirs ?? 'unknown'}, this one is ${ours}). Nothing was changed; --key-file ` +
      'names a file with the key of the installation that made it, --unauthenticated restores it without',
  )
}
