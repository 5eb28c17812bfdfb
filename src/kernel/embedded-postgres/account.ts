/** The operating system account of the server. */
import { lchownSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The operating system account that the server runs as, if it is not the platform's own. */
export type Account = { uid: number; gid: number }

/**
 * Chooses the account for the server; undefined means the account of the platform. PostgreSQL refuses to run as root. Root therefore uses
 * the owner of an existing database, then `postgres`, then `nobody`.
 */
export function chooseAccount(cluster: string): Account | undefined {
  const ownUid = process.getuid?.()
  const owner = statSync(cluster, { throwIfNoEntry: false })
  if (ownUid !== 0) {
    if (owner && owner.uid !== ownUid) {
      throw new Error(
        `The database in ${cluster} belongs to another user (uid ${owner.uid}, this process has uid ${ownUid}); run Waypost as that user.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(':')
    // On macOS, the uid of nobody is 4294967294. `| 0` converts it to -2, as Node expects.
    if (fields && Number(fields[2]) !== 0) return { uid: Number(fields[2]) | 0, gid: Number(fields[3]) | 0 }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as. Run Waypost as an ordinary user.',
  )
}

/** Gives a path and everything below it to the account, for example a database that root has restored from a copy. */
export function changeOwner(path: string, account: Account | undefined): void {
  if (!account) return
  const status = lstatSync(path)
  try {
    // Symbolic links are not followed, because the account could have created a link to a file of root.
    lchownSync(path, account.uid, account.gid)
  } catch (cause) {
    throw new Error(`PostgreSQL refuses to run as root, and ${path} cannot be given to uid ${account.uid}.`, { cause })
  }
  if (status.isDirectory()) for (const name of readdirSync(path)) changeOwner(join(path, name), account)
}

/** Returns whether the account can enter every parent directory and has the permissions `bits` on the path (5: read and execute). */
export function canReach(path: string, account: Account | undefined, bits = 5): boolean {
  if (!account) return true
  const status = statSync(path, { throwIfNoEntry: false })
  if (!status) return false
  const shift = status.uid === account.uid ? 6 : status.gid === account.gid ? 3 : 0
  if (((status.mode >> shift) & bits) !== bits) return false
  const parent = dirname(resolve(path))
  return parent === resolve(path) || canReach(parent, account, 1)
}
