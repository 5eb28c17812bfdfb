import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Account, canReach, handOver } from './account.ts'

export const port = 5432

const prefix = 'waypost-'

/**
 * A fresh directory, closed to everyone but the server's account (and root), for its socket. Not in the data directory:
 * the path of a socket has room for only 103 bytes (107 on Linux). Who else needs it finds its path recorded there.
 */
export function makeSocketDirectory(account: Account | undefined): string {
  for (const parent of ['/tmp', tmpdir()]) {
    try {
      if (!canReach(parent, account, 1)) continue
      const directory = mkdtempSync(join(parent, prefix))
      handOver(directory, account)
      return directory
    } catch {}
  }
  throw new Error('The embedded PostgreSQL needs a directory for its socket, and /tmp cannot be written.')
}

export function removeSocketDirectory(directory: string | undefined): void {
  if (directory && basename(directory).startsWith(prefix)) rmSync(directory, { recursive: true, force: true })
}

/** What a server that died has left there; a stranger may have its number now, and would be taken for it. */
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
