/**
 * Bundles the program for tests that start it as a process: it then loads 130 files instead of 1700, which takes a third of the
 * processor time. Worker threads and migrations are still those of the sources.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = resolve(import.meta.dirname, '..')
const sources = join(root, 'src')

/** Packages with files that they find by the place of their own code. */
const notBundled = ['bcrypt', 'pino', 'quickjs-wasi']

/**
 * Returns the path of the bundled program; undefined if there is no bundler for this system. The path is always the same, so that
 * the cache of compiled code does not grow.
 */
export async function bundleProgram(): Promise<string | undefined> {
  const directory = join(root, 'node_modules/.cache/waypost-program')
  const main = join(directory, 'start.mjs')
  const state = join(directory, 'state.txt')
  const current = stateOfSources()
  if (existsSync(state) && readFileSync(state, 'utf8') === current) return main
  const bundler = await import('rolldown').catch(() => undefined)
  if (!bundler) return undefined
  const unfinished = `${directory}-${process.pid}`
  await bundle(bundler, join(unfinished, 'chunks'))
  writeFileSync(join(unfinished, 'start.mjs'), startText)
  writeFileSync(join(unfinished, 'state.txt'), current)
  rmSync(directory, { recursive: true, force: true })
  renameSync(unfinished, directory)
  return main
}

/** Does what `bin/main.mjs` does; the environment of test processes enables the compile cache. */
const startText = `import ${JSON.stringify(pathToFileURL(join(root, 'bin/resolve.mjs')).href)}\nawait import('./chunks/main.mjs')\n`

function stateOfSources(): string {
  const hash = createHash('sha256')
  for (const file of [
    ...globSync('src/**/*.{ts,mjs}', { cwd: root }).sort(),
    'package-lock.json',
    import.meta.filename,
  ]) {
    const { size, mtimeMs } = statSync(resolve(root, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

async function bundle({ rolldown }: typeof import('rolldown'), directory: string) {
  const build = await rolldown({
    input: join(sources, 'main.ts'),
    cwd: root,
    platform: 'node',
    logLevel: 'silent',
    external: (id) => notBundled.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [{ name: 'places', transform: { filter: { code: 'import.meta' }, handler: keepPlace } }],
  })
  mkdirSync(directory, { recursive: true })
  await build.write({
    dir: directory,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
  })
  await build.close()
}

/** Lets a bundled source file find its migrations, pages and worker threads where it was. */
function keepPlace(code: string, file: string) {
  if (!file.startsWith(sources)) return undefined
  return code
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(file)))
}
