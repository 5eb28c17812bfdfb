import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Account, changeOwner } from './account.ts'
import type { Binaries } from './binaries.ts'
import { eachLine, exitCodeOf, hasProc, launch, pathForServer } from './launch.ts'

/** The role for administration through the local socket. The platform itself uses the role in owner.ts. */
export const superuser = 'waypost'

/** Returns the paths of an embedded server's files. */
export function layout(directory: string) {
  const location = join(directory, 'location')
  const base = existsSync(location) ? readFileSync(location, 'utf8').trim() : directory
  return {
    cluster: join(base, 'cluster'),
    /** Password of the superuser. */
    password: join(directory, 'password'),
    /** Password of the role that the platform uses. */
    ownerPassword: join(directory, 'owner-password'),
    socket: join(directory, 'socket'),
  }
}

/**
 * Chooses where the database is created: in the data directory, except if root runs the platform on a system without /proc (macOS). Then
 * the database is below /var/db, which the server's account can reach, and the data directory records its path (README.md).
 */
export function chooseLocation(directory: string): void {
  if (hasProc || process.getuid?.() !== 0) return
  const location = join(directory, 'location')
  if (existsSync(location) || existsSync(join(directory, 'cluster'))) return
  const base = mkdtempSync('/var/db/waypost-')
  chmodSync(base, 0o711)
  writeDurably(location, base)
}

export function rejectOtherMajor(cluster: string, binaries: Binaries): void {
  const clusterMajor = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (clusterMajor === binaries.major) return
  throw new Error(
    `The database in ${cluster} was made by PostgreSQL ${clusterMajor}, but this Waypost includes PostgreSQL ${binaries.major}, ` +
      `which cannot read it. Make a backup with the Waypost version that made it, then restore the backup into a new data directory.`,
  )
}

/**
 * Creates the database under a temporary name and renames it, so that it is complete or absent.
 * @param scratch a directory that the account can read, to pass the password to initdb
 */
export async function createCluster(
  cluster: string,
  directory: string,
  binaries: Binaries,
  account: Account | undefined,
  scratch: string,
): Promise<void> {
  const partial = mkdtempSync(`${cluster}.partial-`)
  changeOwner(partial, account)

  const secret = randomBytes(24).toString('base64url')
  const passwordForInitdb = join(scratch, 'password')
  writeDurably(layout(directory).password, secret)
  // The flag `wx` does not follow a link that the account could have placed in its directory.
  writeFileSync(passwordForInitdb, secret, { mode: 0o600, flag: 'wx' })
  changeOwner(passwordForInitdb, account)

  const output: string[] = []
  const initdb = launch(
    binaries.initdb,
    [
      `--pgdata=${pathForServer(partial, account)}`,
      `--username=${superuser}`,
      `--pwfile=${passwordForInitdb}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The built-in locale provider sorts by code point, handles the letters of Unicode, and does not depend on the machine's libc.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      '--no-instructions',
    ],
    partial,
    account,
  )
  eachLine(initdb, (line) => output.push(line))
  const code = await exitCodeOf(initdb)
  rmSync(passwordForInitdb, { force: true })
  if (code !== 0) {
    rmSync(partial, { recursive: true, force: true })
    throw new Error(`PostgreSQL could not create its database in ${directory}: ${output.slice(-8).join('\n')}`)
  }
  renameSync(partial, cluster)
  syncDirectory(dirname(cluster))
}

/**
 * Removes partial databases of interrupted starts. If an initdb process survived, it may still write into such a database and make the
 * removal fail. Then the next start removes that database.
 */
export function removePartialClusters(cluster: string): void {
  const prefix = `${basename(cluster)}.partial-`
  for (const name of readdirSync(dirname(cluster))) {
    if (!name.startsWith(prefix)) continue
    try {
      rmSync(join(dirname(cluster), name), { recursive: true, force: true })
    } catch {}
  }
}

/** Changes the owner of a database that root has restored from a copy, because otherwise the server's account could not read it. */
export function adoptCluster(cluster: string, account: Account | undefined): void {
  if (account && statSync(cluster).uid !== account.uid) changeOwner(cluster, account)
}

export function readPassword(directory: string): string {
  const { password } = layout(directory)
  if (existsSync(password)) return readFileSync(password, 'utf8').trim()
  throw new Error(`The password of the database is missing: restore ${password} together with the database.`)
}

export function writeDurably(path: string, text: string): void {
  const partial = `${path}.partial`
  writeFileSync(partial, text, { mode: 0o600, flush: true })
  renameSync(partial, path)
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
