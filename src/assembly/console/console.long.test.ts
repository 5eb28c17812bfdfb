import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { fastify } from 'fastify'
import { openBrowser } from '../../../test/harness/browser.ts'
import { budgets, sizesOf } from '../../../test/harness/console-files.ts'
import { afterAllTests, temporaryDirectory } from '../../../test/harness/database.ts'
import { installedMegabytes, packagesOfConsole } from '../../../test/harness/installed-size.ts'
import { createLog } from '../../kernel/log.ts'
import { bundleConsole } from './bundle.ts'
import { type Console, createConsole, runBuild } from './console.ts'
import type { Manifest } from './manifest.ts'
import { mountConsole } from './serve.ts'
import { projectDirectory } from './sources.ts'

let directory: string
let manifest: Manifest

before(async () => {
  directory = join(temporaryDirectory(), 'one')
  manifest = await bundleConsole(directory)
})

suite('the build of the console', () => {
  test('two builds of the console in different folders are equal byte for byte', async () => {
    const other = join(temporaryDirectory(), 'elsewhere', 'two')
    await bundleConsole(other)
    assert.deepEqual(readdirSync(other), readdirSync(directory))
    for (const name of readdirSync(other))
      assert.ok(readFileSync(join(other, name)).equals(readFileSync(join(directory, name))), name)
  })

  test('the files of the console are within the size budgets', () => {
    const { first, all } = sizesOf(directory, manifest)
    assert.ok(
      first <= budgets.first,
      `the files of the first load have ${first.toFixed(0)} KB, at most ${budgets.first} are allowed`,
    )
    assert.ok(
      all <= budgets.all,
      `all files except the data of the map have ${all.toFixed(0)} KB, at most ${budgets.all} are allowed`,
    )
  })

  test('every page is within its size budget, which counts the files that the page loads except the files that most pages share', () => {
    const { pages, common } = sizesOf(directory, manifest)
    assert.ok(pages.size > 60, `${pages.size} pages`)
    assert.ok(
      common <= budgets.common,
      `the files that most pages share have ${common.toFixed(0)} KB, at most ${budgets.common} are allowed`,
    )
    assert.deepEqual(
      [...pages].filter(([, size]) => size > budgets.page),
      [],
    )
  })

  test('the packages that are installed only for the console are within the size budget', () => {
    const packages = packagesOfConsole()
    const folders = packages.map(({ folder }) => folder)
    // A package is missing here if the search for packages no longer finds what the console imports.
    for (const name of ['react-dom', 'react-aria', 'esbuild', 'uplot', 'leaflet', 'codemirror'])
      assert.ok(folders.includes(`node_modules/${name}`), name)
    assert.ok(
      !folders.some((folder) => /\/(fastify|pg|jose)$/.test(folder)),
      'the platform needs these packages itself',
    )
    const megabytes = installedMegabytes(packages)
    assert.ok(
      megabytes <= budgets.installed,
      `the packages have ${megabytes.toFixed(1)} MB, at most ${budgets.installed} are allowed: ${JSON.stringify(packages.slice(0, 10))}`,
    )
  })

  test('the build of the console does not create functions from texts', () => {
    for (const name of Object.keys(manifest.files))
      if (name.endsWith('.js'))
        assert.doesNotMatch(readFileSync(join(directory, name), 'utf8'), /\bnew Function\(/, name)
  })
})

async function serve(console: Console) {
  const app = fastify()
  mountConsole({ app, unreadablePaths: new Map() } as never, console, () => 'https://example.com/waypost')
  afterAllTests(() => app.close())
  return app
}

suite('serving the console', async () => {
  const log = await createLog({ level: 'silent', format: 'json' })
  const options = { watch: false, fallbackDirectory: '', log }

  test('serving the console: every path returns the page of the console, with a policy that allows only scripts of the platform', async () => {
    const console = createConsole({ ...options, directory })
    const app = await serve(console)
    const building = await app.inject('/console/default')
    assert.equal(building.statusCode, 503)
    assert.match(building.body, /being built/)
    assert.match(building.body, /http-equiv="refresh"/)
    await console.prepare()
    for (const path of ['/console', '/console/default/endpoints/a%2Fb', '/console/@/signed-in?to=x']) {
      const answer = await app.inject(path)
      assert.equal(answer.statusCode, 200)
      const policy = String(answer.headers['content-security-policy'])
      assert.match(policy, /script-src 'self';/)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.ok(answer.body.includes(`src="/waypost/console/@/${manifest.script}"`))
      assert.doesNotMatch(answer.body, /<script(?![^>]* src=)/)
      // The HTML page lists these files, so that a browser requests them before it has read the script.
      assert.ok(manifest.imports.length > 0)
      for (const name of manifest.imports) assert.ok(answer.body.includes(`href="/waypost/console/@/${name}"`), name)
    }
  })

  test('a page that was opened while the console was being built loads the console when the build is complete', async () => {
    const console = createConsole({ ...options, directory })
    const app = fastify()
    mountConsole({ app, unreadablePaths: new Map() } as never, console, () => address)
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    afterAllTests(() => app.close())
    const page = await (await openBrowser()).newPage()
    const answered = page.waitForResponse(`${address}/console/default`)
    await page.goto(`${address}/console/default`)
    assert.equal((await answered).status(), 503)
    await page.getByRole('heading', { name: 'The console is being built' }).waitFor()
    await page.getByText('The page opens by itself.').waitFor()
    await console.prepare()
    // The console has loaded and requests the identity provider, which this test does not run.
    await page.getByRole('heading', { name: 'This tenant is not available' }).waitFor()
  })

  test('serving the console: files of the build are compressed and cacheable for ever, and no other file of the folder is served', async () => {
    const console = createConsole({ ...options, directory })
    await console.prepare()
    const app = await serve(console)
    const large = manifest.imports.find((name) => manifest.files[name]!.sizes.br !== undefined)!
    const address = `/console/@/${large}`
    for (const [accepted, encoding] of [
      ['br, gzip', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['', undefined],
    ] as const) {
      const answer = await app.inject({ url: address, headers: { 'accept-encoding': accepted } })
      assert.equal(answer.headers['content-encoding'], encoding)
      assert.match(String(answer.headers['cache-control']), /immutable/)
      assert.equal(answer.rawPayload.length, Number(answer.headers['content-length']))
    }
    for (const path of ['manifest.json', `${large}.br`, 'app-OLDHASH1.js', '..%2fmanifest.json', '__proto__'])
      assert.equal((await app.inject(`/console/@/${path}`)).statusCode, 404, path)
    const build = await app.inject('/console/@/build.json')
    assert.equal(build.json().script, manifest.script)
  })

  test('a page that was opened before an upgrade gets files of its build while they are cached', async () => {
    const cache = join(projectDirectory, 'node_modules/.cache/waypost-console', `test-${process.pid}`)
    mkdirSync(cache, { recursive: true })
    afterAllTests(() => rmSync(cache, { recursive: true, force: true }))
    const file = { type: 'text/javascript; charset=utf-8', sizes: { identity: 3 } }
    const older = { script: '', style: '', worker: '', reference: '', files: { 'old-ABCDEFGH.js': file } }
    writeFileSync(join(cache, 'manifest.json'), JSON.stringify(older))
    writeFileSync(join(cache, 'old-ABCDEFGH.js'), 'old')
    const app = await serve(createConsole({ ...options, directory: undefined }))
    assert.equal((await app.inject('/console/@/old-ABCDEFGH.js')).body, 'old')
    assert.equal((await app.inject('/console/@/old-ABCDEFGX.js')).statusCode, 404)
    const prebuilt = await serve(createConsole({ ...options, directory }))
    assert.equal((await prebuilt.inject('/console/@/old-ABCDEFGH.js')).statusCode, 404)
  })

  test('a build that exceeds its time limit is stopped, and the error says so', async () => {
    const slow = runBuild(join(temporaryDirectory(), 'slow'), new AbortController().signal, 20)
    await assert.rejects(slow, {
      message: /^The build was ended because it took longer than 0 seconds\. Is the machine/,
    })
  })

  test('a deleted file is answered with 404, and the page of a failed build says that it failed', async () => {
    const broken = join(temporaryDirectory(), 'broken')
    await bundleConsole(broken)
    const console = createConsole({ ...options, directory: broken })
    await console.prepare()
    rmSync(join(broken, manifest.style))
    const app = await serve(console)
    assert.equal((await app.inject(`/console/@/${manifest.style}`)).statusCode, 404)
    const empty = temporaryDirectory()
    writeFileSync(join(empty, 'manifest.json'), '<not json>')
    const failing = createConsole({ ...options, directory: empty })
    await failing.prepare()
    const page = await (await serve(failing)).inject('/console/default')
    assert.equal(page.statusCode, 503)
    assert.match(page.body, /could not be built/)
    assert.match(page.body, /A restart of the platform builds the\s+console again/)
    assert.doesNotMatch(page.body, /<not json>/)
  })
})
