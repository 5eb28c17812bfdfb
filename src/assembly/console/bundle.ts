/** Bundles the web console with esbuild. Two builds of the same sources are equal byte for byte, even in different folders. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, extname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import * as React from 'react'
import * as JsxRuntime from 'react/jsx-runtime'
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

/**
 * Bundles only the English texts of React Aria. All other languages would be a third of the first load. React Aria uses the English texts
 * for a language whose texts are undefined. For a language whose texts are an empty object, it throws an error.
 */
const withoutOtherLanguages: Plugin = {
  name: 'languages',
  setup({ onLoad }) {
    onLoad(
      { filter: /\/(?:react-aria|react-stately|react-aria-components)\/dist\/.*\/[a-z]{2}-[A-Z]{2}\.m?js$/ },
      ({ path }) => (/\/en-US\.m?js$/.test(path) ? undefined : { contents: 'export default undefined', loader: 'js' }),
    )
  },
}

/**
 * Fixes the language of React Aria to English, because the texts and numbers of the console are in English. Number fields would otherwise
 * read 0.5 as 5 in a German browser. While React Aria loads, it would also read the direction of the browser's language. For this, the
 * browser loads the data of all languages, which takes 30 ms, or 120 ms on a slow computer, before anything is shown.
 */
const alwaysEnglish: Plugin = {
  name: 'language',
  setup({ onLoad }) {
    onLoad({ filter: /\/react-aria\/dist\/private\/i18n\/useDefaultLocale\.mjs$/ }, () => ({
      contents: `const english = { locale: 'en-US', direction: 'ltr' }
        export const getDefaultLocale = () => english
        export const useDefaultLocale = () => english`,
      loader: 'js',
    }))
  },
}

/**
 * Removes the check whether the browser can format signs of numbers, which all supported browsers can. For this check, the browser loads
 * the data of numbers, which took about 25 ms before anything was shown.
 */
const numbersHaveSigns: Plugin = {
  name: 'numbers',
  setup({ onLoad }) {
    onLoad({ filter: /\/@internationalized\/number\/dist\/private\/NumberFormatter\.mjs$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace(
        /new Intl\.NumberFormat\('de-DE', \{\s*signDisplay: 'exceptZero'\s*\}\)\.resolvedOptions\(\)\.signDisplay === 'exceptZero'/,
        'true',
      )
      if (contents === source) throw new Error(`${path} is not as this build expects`)
      return { contents, loader: 'js' }
    })
  },
}

/**
 * Imports React as a module. React is a CommonJS package: esbuild would copy its exports for each file that imports it, and read them
 * through functions. Modules import this module instead, which reads the exports once.
 */
const reactAsModule: Plugin = {
  name: 'react',
  setup({ onResolve, onLoad, resolve }) {
    const packages: Record<string, object> = { react: React, 'react/jsx-runtime': JsxRuntime }
    onResolve({ filter: /^react(?:\/jsx-runtime)?$/ }, ({ path, kind, namespace }) =>
      kind === 'import-statement' && namespace !== 'react'
        ? { path, namespace: 'react', sideEffects: false }
        : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'react' }, async ({ path }) => {
      const found = await resolve(path, { kind: 'require-call', resolveDir: projectDirectory })
      const names = Object.keys(packages[path]!).filter((name) => /^[a-zA-Z]\w*$/.test(name) && name !== 'default')
      const contents = `import whole from ${JSON.stringify(found.path)}
        export default whole
        ${names.map((name) => `export const ${name} = whole.${name}`).join('\n')}`
      return { contents, loader: 'js', resolveDir: projectDirectory }
    })
  },
}

const requiredByReactDom = `var Scheduler = require("scheduler"),
  React = require("react"),
  ReactDOM = require("react-dom");`

/**
 * Converts React DOM, a CommonJS package, to a module. esbuild would put the package into one function, which the browser compiles as a
 * whole before anything is shown. The functions of a module are compiled when they are called.
 */
const reactDomAsModule: Plugin = {
  name: 'react-dom',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^react-dom\/client$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'react-dom' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'react-dom' }, async ({ path }) => {
      const found = await resolve(path, { kind: 'require-call', resolveDir: projectDirectory })
      const file = join(dirname(found.path), 'cjs/react-dom-client.production.js')
      const source = await readFile(file, 'utf8')
      const rest = source.replace(requiredByReactDom, '')
      if (rest === source || /\brequire\(|\bmodule\./.test(rest))
        throw new Error(`${file} is not as this build expects`)
      const contents = `import Scheduler from 'scheduler'
        import React from 'react'
        import ReactDOM from 'react-dom'
        const exports = {}
        ${rest}
        export const createRoot = exports.createRoot`
      return { contents, loader: 'js', resolveDir: dirname(file) }
    })
  },
}

const firstScript = 'console/src/app/main.tsx'
const commonParts = 'console/src/pages/common.ts'
/** A source file that most pages import. The output file that contains it is the file that most pages need. */
const commonPart = 'console/src/parts/fields.tsx'

/**
 * Bundles the code of the first load into one file, and the code that most pages share into a second file. esbuild would create a file for
 * each combination of imports: 31 files for the first load. Therefore every file that is loaded later imports the first script and the
 * common parts, so that there is only one combination.
 */
const fewFiles: Plugin = {
  name: 'few files',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^\.+\/.*\.tsx$/ }, async ({ path, kind, resolveDir, namespace }) => {
      if (kind !== 'dynamic-import' || namespace !== 'file') return undefined
      const found = await resolve(path, { kind: 'import-statement', resolveDir })
      return found.errors.length > 0 ? found : { path: relative(projectDirectory, found.path), namespace: 'later' }
    })
    onLoad({ filter: /.*/, namespace: 'later' }, ({ path }) => {
      const [file, first, common] = [path, firstScript, commonParts].map((name) => JSON.stringify(`./${name}`))
      const contents = `import ${first}; import ${common}; export * from ${file}; export { default } from ${file}`
      return { contents, loader: 'js', resolveDir: projectDirectory }
    })
  },
}

/**
 * Provides `console:styles`, which contains every style sheet of the console. In a bundle of esbuild, a page that is imported later does
 * not load its style sheets.
 */
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
      app: firstScript,
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
    // With `minify`, esbuild sets the variable NODE_ENV of the bundle to `production`, so packages leave out their development code.
    loader: { '.png': 'file', '.svg': 'file' },
    legalComments: 'linked',
    metafile: true,
    logLevel: 'silent',
    plugins: [
      withoutOtherLanguages,
      alwaysEnglish,
      numbersHaveSigns,
      reactAsModule,
      reactDomAsModule,
      fewFiles,
      allStyles,
    ],
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
  const common = Object.keys(metafile.outputs).find((name) => metafile.outputs[name]?.inputs[commonPart])
  if (common === undefined) throw new Error(`the build has no file with ${commonPart}`)
  const manifest: Manifest = {
    script: fileOf(script),
    // The file that most pages need is loaded with the first script, even while the user signs in.
    imports: [...importsOf(script).add(common)].map(fileOf).sort(),
    style: fileOf(pathOf(/^console:/, '.css')),
    worker: fileOf(pathOf(/live-worker\.ts$/, '.js')),
    reference: fileOf(pathOf(/app\/reference\.ts$/, '.js')),
    files,
  }
  await writeFile(join(directory, manifestName), `${JSON.stringify(manifest, null, 1)}\n`)
  return manifest
}

/** Writes the compressed forms of a file, and returns its description. */
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
