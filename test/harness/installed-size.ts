/** Measures how much the packages of the console add to an installation. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

interface Package {
  dev?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

const readPackages = (): Record<string, Package> =>
  JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages

/** Returns the names of the packages that the sources in a folder import. */
function importedIn(folder: string, isIncluded: (path: string) => boolean = () => true): Set<string> {
  const names = new Set<string>()
  for (const { name, parentPath } of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    const path = join(parentPath, name)
    if (!/\.tsx?$/.test(name) || name.endsWith('.test.ts') || !isIncluded(path)) continue
    const source = readFileSync(path, 'utf8')
    for (const [, imported] of source.matchAll(/(?:from|import\(?) ?'((?:@[\w.-]+\/)?[\w.-]+)[^']*'/g))
      if (!imported!.startsWith('.')) names.add(imported!)
  }
  return names
}

/** Returns the folders of packages and of everything that they depend on, as npm finds them. */
function foldersOf(packages: Record<string, Package>, names: string[]): Set<string> {
  const folders = new Set<string>()
  const add = (from: string, name: string) => {
    const folder = folderOf(packages, from, name)
    if (folder === undefined || folders.has(folder)) return
    folders.add(folder)
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = packages[folder]!
    const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional)
    for (const needed of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) add(folder, needed)
  }
  for (const name of names) add('', name)
  return folders
}

function folderOf(packages: Record<string, Package>, from: string, name: string): string | undefined {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')))) {
    const folder = `${above === '' ? '' : `${above}/`}node_modules/${name}`
    if (packages[folder]) return folder
    if (!above.includes('/node_modules/')) return packages[`node_modules/${name}`] && `node_modules/${name}`
  }
}

/** Returns the bytes of a folder. A file with several names counts once. Source maps do not count: the installation removes them. */
function bytesOf(folder: string, counted: Set<number>): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') bytes += bytesOf(path, counted)
      continue
    }
    const { ino, size } = lstatSync(path)
    if (!counted.has(ino) && !entry.name.endsWith('.map')) bytes += size
    counted.add(ino)
  }
  return bytes
}

/** Returns the packages that are installed only because of the console, with their bytes, the largest first. */
export function packagesOfConsole(): { folder: string; bytes: number }[] {
  const packages = readPackages()
  const { dependencies = {}, optionalDependencies = {} } = packages['']!
  const names = Object.keys({ ...dependencies, ...optionalDependencies })
  const [ofConsole, ofPlatform] = [
    new Set([...importedIn('console/src'), ...importedIn('sdk/src'), ...importedIn('src/assembly/console')]),
    importedIn('src', (path) => !path.includes('/src/assembly/console/')),
  ]
  const others = foldersOf(
    packages,
    names.filter((name) => !ofConsole.has(name) || ofPlatform.has(name)),
  )
  const counted = new Set<number>()
  return [...foldersOf(packages, names)]
    .filter((folder) => !others.has(folder) && existsSync(join(root, folder)))
    .map((folder) => ({ folder, bytes: bytesOf(join(root, folder), counted) }))
    .sort((a, b) => b.bytes - a.bytes)
}

export const installedMegabytes = (packages: { bytes: number }[]) =>
  packages.reduce((sum, { bytes }) => sum + bytes, 0) / 1_000_000
