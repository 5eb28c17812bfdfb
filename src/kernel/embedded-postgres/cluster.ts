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
import { type Account, handOver } from './account.ts'
import type { Binaries } from './binaries.ts'
import { eachLine, ended, hasProc, launch, nameOf } from './launch.ts'

/** For administration by the local socket; the platform works as the role in owner.ts. */
export const superuser = 'waypost'

/** The files of an embedded server. */
export function layout(directory: string) {
  const location = join(directory, 'location')
  const place = existsSync(location) ? readFileSync(location, 'utf8').trim() : directory
  return {
    cluster: join(place, 'cluster'),
    /** Of the superuser. */
    password: join(directory, 'password'),
    /** Of the role that the platform works as. */
    ownerPassword: join(directory, 'owner-password'),
    socket: join(directory, 'socket'),
  }
}

/**
 * On Linux the database is always in the directory itself. Elsewhere (macOS) there is no /proc, so that root has to make it
 * where its account can go (see `nameOf`), and records that place in the directory.
 */
export function choosePlace(directory: string): void {
  if (hasProc || process.getuid?.() !== 0) return
  const location = join(directory, 'location')
  if (existsSync(location) || existsSync(join(directory, 'cluster'))) return
  const place = mkdtempSync('/var/db/waypost-')
  chmodSync(place, 0o711)
  writeDurably(location, place)
}

export function refuseOtherMajor(cluster: string, binaries: Binaries): void {
  const found = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (found === binaries.major) return
  throw new Error(
    `The database in ${cluster} was made by PostgreSQL ${found}, but this Waypost brings PostgreSQL ${binaries.major}, ` +
      `which cannot read it. Make a backup with the Waypost that made it, and restore that into a new data directory.`,
  )
}

/**
 * Makes the database beside its place and then renames it there, so that it is whole or absent.
 * @param scratch a directory that the account can read, for the password on its way to initdb
 */
export async function makeCluster(
  cluster: string,
  directory: string,
  binaries: Binaries,
  account: Account | undefined,
  scratch: string,
): Promise<void> {
  const partial = mkdtempSync(`${cluster}.partial-`)
  handOver(partial, account)

  const secret = randomBytes(24).toString('base64url')
  const passwordForInitdb = join(scratch, 'password')
  writeDurably(layout(directory).password, secret)
  // `wx` follows no link that the account, whose directory this is, could have laid.
  writeFileSync(passwordForInitdb, secret, { mode: 0o600, flag: 'wx' })
  handOver(passwordForInitdb, account)

  const output: string[] = []
  const initdb = launch(
    binaries.initdb,
    [
      `--pgdata=${nameOf(partial, account)}`,
      `--username=${superuser}`,
      `--pwfile=${passwordForInitdb}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Built in: sorts by code point as C does, knows the letters of Unicode, and never changes with the machine's libc.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      '--no-instructions',
    ],
    partial,
    account,
  )
  eachLine(initdb, (line) => output.push(line))
  const code = await ended(initdb)
  rmSync(passwordForInitdb, { force: true })
  if (code !== 0) {
    rmSync(partial, { recursive: true, force: true })
    throw new Error(`PostgreSQL could not make its database in ${directory}: ${output.slice(-8).join('\n')}`)
  }
  renameSync(partial, cluster)
  sync(dirname(cluster))
}

/**
 * Every attempt has its own name, for the initdb of a killed platform may still be writing into the last one; it may even
 * keep us from removing that, which the next start will.
 */
export function removeLeftovers(cluster: string): void {
  const prefix = `${basename(cluster)}.partial-`
  for (const name of readdirSync(dirname(cluster))) {
    if (!name.startsWith(prefix)) continue
    try {
      rmSync(join(dirname(cluster), name), { recursive: true, force: true })
    } catch {}
  }
}

/** A database that root restored from a backup belongs to root; its server could not read it. */
export function adoptCluster(cluster: string, account: Account | undefined): void {
  if (account && statSync(cluster).uid !== account.uid) handOver(cluster, account)
}

export function readPassword(directory: string): string {
  const { password } = layout(directory)
  if (existsSync(password)) return readFileSync(password, 'utf8').trim()
  throw new Error(`The password of the database is missing: ${password} has to be restored with the database.`)
}

export function writeDurably(path: string, text: string): void {
  const partial = `${path}.partial`
  writeFileSync(partial, text, { mode: 0o600, flush: true })
  renameSync(partial, path)
}

function sync(directory: string): void {
  const descriptor = openSync(directory, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
