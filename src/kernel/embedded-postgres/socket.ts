import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Account, canReach, changeOwner } from './account.ts'

export const port = 5432

const prefix = 'waypost-'

/**
 * Creates a directory for the socket that only the server's account and root can enter. The path of a socket has at most 103 bytes (107 on
 * Linux), so the directory is not in the data directory. The data directory records its path.
 */
export function createSocketDirectory(account: Account | undefined): string {
  for (const parent of ['/tmp', tmpdir()]) {
    try {
      if (!canReach(parent, account, 1)) continue
      const directory = mkdtempSync(join(parent, prefix))
      changeOwner(directory, account)
      return directory
    } catch {}
  }
  throw new Error(
    'The embedded PostgreSQL needs a directory for its socket, and /tmp cannot be written. Make /tmp writable, or set TMPDIR.',
  )
}

export function removeSocketDirectory(directory: string | undefined): void {
  if (directory && basename(directory).startsWith(prefix)) rmSync(directory, { recursive: true, force: true })
}

/**
 * Removes the socket and lock files of a dead server. The lock file contains the pid of the dead server. If another process has this pid
 * now, PostgreSQL would mistake that process for the server.
 */
export function removeSockets(directory: string): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { force: true })
}

export function recordedSocketDirectory(record: string): string | undefined {
  try {
    return readFileSync(record, 'utf8').trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function isListening(socketDirectory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(join(socketDirectory, `.s.PGSQL.${port}`))
    probe.once('error', () => resolve(false))
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
  })
}
