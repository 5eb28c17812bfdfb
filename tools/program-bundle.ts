/**
 * Bundles the program for tests that start it as a process. The bundled program loads 100 files instead of 1100, not counting packages, and
 * takes half of the processor time. It still uses the worker threads and migrations of the sources.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = resolve(import.meta.dirname, '..')

/** Bundles the program and returns its path. The path is always the same, so that the cache of compiled code does not grow. */
export async function bundleProgram(): Promise<string> {
  const directory = join(root, 'node_modules/.cache/waypost-program')
  const main = join(directory, 'start.mjs')
  const state = join(directory, 'state.txt')
  const current = stateOfSources()
  if (existsSync(state) && readFileSync(state, 'utf8') === current) return main
  const unfinished = `${directory}-${process.pid}`
  await bundle(join(unfinished, 'chunks'))
  writeFileSync(join(unfinished, 'start.mjs'), startText)
  writeFileSync(join(unfinished, 'state.txt'), current)
  rmSync(directory, { recursive: true, force: true })
  renameSync(unfinished, directory)
  return main
}

/**
 * Text of the start script. It does the same as `bin/main.mjs`, except that the environment of test processes enables the compile cache.
 */
const startText = `import ${JSON.stringify(pathToFileURL(join(root, 'bin/resolve.mjs')).href)}\nawait import('./chunks/main.mjs')\n`

function stateOfSources(): string {
  const hash = createHash('sha256')
  const sources = globSync('{src,sdk}/**/*.{ts,mjs}', { cwd: root }).sort()
  for (const file of [...sources, 'package-lock.json', import.meta.filename]) {
    const { size, mtimeMs } = statSync(resolve(root, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** Makes a bundled source file find its migrations, pages and worker threads at the original path of the file. */
const sourcePaths: Plugin = {
  name: 'source-paths',
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|sdk)\/.*\.ts$/ }, ({ path }) => {
      if (path.includes('/node_modules/')) return undefined
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      return { contents, loader: 'ts' }
    })
  },
}

/**
 * Bundles the sources without `keepNames` and `minify`, because the text of functions must not change: the sandbox gets some of its code as
 * the text of functions.
 */
async function bundle(directory: string) {
  await build({
    entryPoints: [join(root, 'src/main.ts')],
    absWorkingDir: root,
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'error',
    // Packages are not bundled, because they may find files by the path of their own code.
    packages: 'external',
    plugins: [sourcePaths],
  })
}
