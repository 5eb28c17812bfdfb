/** Bundles the web console with esbuild. Two builds of the same sources are equal byte for byte, in any folder. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import { type BuiltFile, type Manifest, manifestName, suffixes } from './manifest.ts'
import { projectDirectory } from './sources.ts'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
}
const compressed = /^(?:text|application)\/|svg/
const bytesMin = 1024

/** Only these languages of React Aria are bundled; the others would be a third of the first load. */
const withoutOtherLanguages: Plugin = {
  name: 'languages',
  setup({ onLoad }) {
    onLoad(
      { filter: /\/(?:react-aria|react-stately|react-aria-components)\/dist\/.*\/[a-z]{2}-[A-Z]{2}\.m?js$/ },
      ({ path }) => (/\/en-US\.m?js$/.test(path) ? undefined : { contents: 'export default {}', loader: 'js' }),
    )
  },
}

/**
 * React Aria checks the language of the browser when it is loaded, with a function that loads the data of all languages: 30 ms, and 120 ms
 * on a slow computer, before anything is shown. Another function makes the same check without data.
 */
const quickLanguageCheck: Plugin = {
  name: 'language check',
  setup({ onLoad }) {
    onLoad({ filter: /\/react-aria\/dist\/private\/i18n\/useDefaultLocale\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace('Intl.DateTimeFormat.supportedLocalesOf(', 'Intl.getCanonicalLocales(')
      if (contents === source) throw new Error(`${path} does not check the language as this build expects`)
      return { contents, loader: 'js' }
    })
  },
}

/** `console:styles` is every style sheet of the console: esbuild does not load those of pages that are imported later. */
const allStyles: Plugin = {
  name: 'styles',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^console:styles$/ }, () => ({ path: 'styles', namespace: 'console' }))
    onLoad({ filter: /.*/, namespace: 'console' }, async () => {
      const sources = join(projectDirectory, 'console/src')
      const files = (await readdir(sources, { recursive: true })).filter((file) => file.endsWith('.css')).sort()
      const contents = files.map((file) => `@import ${JSON.stringify(`./${file.replaceAll('\\', '/')}`)};`).join('\n')
      return { contents, loader: 'css', resolveDir: sources }
    })
  },
}

/** Writes the bundle with its compressed files and its manifest to an empty folder. */
export async function bundleConsole(directory: string): Promise<Manifest> {
  await mkdir(directory, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: projectDirectory,
    entryPoints: {
      app: 'console/src/app/main.tsx',
      worker: 'console/src/api/live-worker.ts',
      reference: 'console/src/app/reference.ts',
      style: 'console:styles',
    },
    outdir: directory,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    // With `minify`, esbuild takes the environment of the packages for production.
    loader: { '.png': 'file', '.svg': 'file' },
    legalComments: 'linked',
    metafile: true,
    logLevel: 'silent',
    plugins: [withoutOtherLanguages, quickLanguageCheck, allStyles],
  })
  const pathOf = (entry: RegExp, extension: string) => {
    const found = Object.entries(metafile.outputs).find(
      ([name, { entryPoint }]) => entryPoint !== undefined && entry.test(entryPoint) && name.endsWith(extension),
    )
    if (!found) throw new Error(`the build has no ${extension} file of ${entry}`)
    return found[0]
  }
  const fileOf = (path: string) => path.split('/').at(-1)!
  const importsOf = (path: string, seen = new Set<string>()): Set<string> => {
    for (const { path: imported, kind } of metafile.outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !seen.has(imported)) importsOf(imported, seen.add(imported))
    return seen
  }
  const files: Record<string, BuiltFile> = {}
  for (const name of (await readdir(directory)).sort()) files[name] = await compress(directory, name)
  const script = pathOf(/main\.tsx$/, '.js')
  const manifest: Manifest = {
    script: fileOf(script),
    imports: [...importsOf(script)].map(fileOf).sort(),
    style: fileOf(pathOf(/^console:/, '.css')),
    worker: fileOf(pathOf(/live-worker\.ts$/, '.js')),
    reference: fileOf(pathOf(/app\/reference\.ts$/, '.js')),
    files,
  }
  await writeFile(join(directory, manifestName), `${JSON.stringify(manifest, null, 1)}\n`)
  return manifest
}

/** Writes the compressed forms of a file, and describes it. */
async function compress(directory: string, name: string): Promise<BuiltFile> {
  const content = await readFile(join(directory, name))
  const type = types[extname(name)] ?? 'application/octet-stream'
  const sizes: BuiltFile['sizes'] = { identity: content.length }
  if (!compressed.test(type) || content.length < bytesMin) return { type, sizes }
  const br = await promisify(brotliCompress)(content, { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } })
  const gz = await promisify(gzip)(content, { level: 9 })
  await writeFile(join(directory, name + suffixes.br), br)
  await writeFile(join(directory, name + suffixes.gzip), gz)
  return { type, sizes: { ...sizes, br: br.length, gzip: gz.length } }
}
