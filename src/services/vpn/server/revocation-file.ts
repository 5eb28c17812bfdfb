/** The file from which the OpenVPN processes of a server read the revocation lists. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface RevocationFile {
  path: string
  /** Writes the lists, unless the file already contains them. Lists that could not be written are written by the next call. */
  write(lists: string): void
}

/** A server that starts has a new directory, so its first call of `write` always writes the file. */
export function createRevocationFile(directory: string): RevocationFile {
  const path = join(directory, 'revoked.pem')
  let written: string | undefined
  return {
    path,
    write(lists) {
      if (lists === written) return
      const next = join(directory, 'next.pem')
      writeFileSync(next, lists, { mode: 0o644 })
      renameSync(next, path)
      written = lists
    },
  }
}
