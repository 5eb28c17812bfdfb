import { lchownSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** An account of the operating system that the server runs as, when it is not our own. */
export type Account = { uid: number; gid: number }

/**
 * PostgreSQL refuses to run as root. As root we run it as the owner of the existing database, so that a database made by
 * an ordinary user stays theirs, or that an account `postgres` installed later changes nothing; else as `postgres`, else
 * `nobody`. As anyone else it runs as ourselves: undefined.
 */
export function chooseAccount(cluster: string): Account | undefined {
  const ours = process.getuid?.()
  const owner = statSync(cluster, { throwIfNoEntry: false })
  if (ours !== 0) {
    if (owner && owner.uid !== ours) {
      throw new Error(
        `The database in ${cluster} belongs to another user (uid ${owner.uid}, we are ${ours}); run as that user.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(':')
    // `| 0`: macOS gives nobody the uid 4294967294, which Node wants as -2.
    if (fields && Number(fields[2]) !== 0) return { uid: Number(fields[2]) | 0, gid: Number(fields[3]) | 0 }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as.')
}

/** Gives a path to the account; a database restored by root from a backup needs it all the way down. */
export function handOver(path: string, account: Account | undefined): void {
  if (!account) return
  const status = lstatSync(path)
  try {
    // Not the target of a link: the account could have laid one to a file of root's.
    lchownSync(path, account.uid, account.gid)
  } catch (cause) {
    throw new Error(`PostgreSQL refuses to run as root, and ${path} cannot be given to uid ${account.uid}.`, { cause })
  }
  if (status.isDirectory()) for (const name of readdirSync(path)) handOver(join(path, name), account)
}

/** Whether the account can enter every directory on the way and read (and, if `bits` says so, run) what is there. */
export function canReach(path: string, account: Account | undefined, bits = 5): boolean {
  if (!account) return true
  const status = statSync(path, { throwIfNoEntry: false })
  if (!status) return false
  const shift = status.uid === account.uid ? 6 : status.gid === account.gid ? 3 : 0
  if (((status.mode >> shift) & bits) !== bits) return false
  const parent = dirname(resolve(path))
  return parent === resolve(path) || canReach(parent, account, 1)
}
