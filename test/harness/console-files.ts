/** Sizes of a build of the console, in KB of its files compressed by gzip. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Manifest } from '../../src/assembly/console/manifest.ts'

export interface ConsoleSizes {
  /** Kilobytes of the style sheet, the first script and all files that this script imports. */
  first: number
  /** Kilobytes of the files that most pages share. */
  common: number
  /** Kilobytes of the files that a page loads in addition to the files of `first` and `common`, by page. */
  pages: Map<string, number>
  /** Kilobytes of all files without the data of the map. */
  all: number
}

/** Maximum sizes of files in kilobytes, and of the installed packages in megabytes. */
export const budgets = { first: 180, common: 60, page: 60, all: 900, installed: 45 }

export function sizesOf(directory: string, manifest: Manifest): ConsoleSizes {
  const bytesOf = (name: string) => {
    const { sizes } = manifest.files[name]!
    return sizes.gzip ?? sizes.identity
  }
  const kilobytes = (names: Iterable<string>) => [...names].reduce((sum, name) => sum + bytesOf(name), 0) / 1024
  const textOf = (name: string) => readFileSync(join(directory, name), 'utf8')

  /** Returns the files that a file imports before it runs. */
  function importsOf(name: string, seen = new Set<string>()): Set<string> {
    if (seen.has(name)) return seen
    seen.add(name)
    for (const [, imported] of textOf(name).matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)) importsOf(imported!, seen)
    return seen
  }

  const first = importsOf(manifest.script)
  // One of the scripts that load first contains an `import()` for the file of each page.
  const pageFiles = [...first].flatMap((name) =>
    [...textOf(name).matchAll(/import\("\.\/([\w.-]+\.js)"\)/g)].map(([, file]) => file!),
  )
  const filesOf = new Map(
    [...new Set(pageFiles)].map((name) => [name, [...importsOf(name)].filter((file) => !first.has(file))]),
  )
  const loaded = [...filesOf.values()].flat()
  const common = new Set(loaded.filter((name) => loaded.filter((other) => other === name).length > filesOf.size / 2))
  const mapBytes = gzipSync(readFileSync('console/src/parts/world.ts')).length
  return {
    first: kilobytes([...first, manifest.style]),
    common: kilobytes(common),
    pages: new Map([...filesOf].map(([name, files]) => [name, kilobytes(files.filter((file) => !common.has(file)))])),
    all: kilobytes(Object.keys(manifest.files)) - mapBytes / 1024,
  }
}
