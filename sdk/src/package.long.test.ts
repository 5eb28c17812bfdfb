/** Tests the published package: it type-checks in other projects, is small in a browser, and runs without its sources. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { before, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { temporaryDirectory } from '../../test/harness/database.ts'
import { createSdkProject, packSdk, typeErrors } from '../../tools/sdk/package.ts'

const bundleBytesMax = 12 * 1024

/** A page that uses ten operations of four nouns, lists, ETags and live data. */
const page = `import { createClientOf } from '@waypost/sdk/core'
import { applications, commands, endpoints, tokens } from '@waypost/sdk/table'
const client = createClientOf({ applications, commands, endpoints, tokens }, { url: location.origin, auth: { apiKey: 'k' } })
for await (const one of client.endpoints.list({ limit: 10 })) console.log(one)
await client.endpoints.get({ endpointId: 'a' })
await client.endpoints.create({ body: { appVersion: { name: 'a-v1' } } })
await client.endpoints.delete({ endpointId: 'a' })
await client.tokens.create({ endpointId: 'a', body: { applicationName: 'a' } })
for await (const one of client.tokens.list({ endpointId: 'a' })) console.log(one)
await client.commands.send({ endpointId: 'a', commandType: 'blink' })
await client.commands.get({ endpointId: 'a', commandType: 'blink', commandId: 1 })
await client.applications.list().page()
await client.applications.get({ appName: 'a' })
for await (const event of client.live({ applicationName: 'a' })) console.log(event)
`

/** Returns the size of a bundle, minified and compressed. */
function bundleBytes(project: string, text: string): number {
  writeFileSync(join(project, 'page.js'), text)
  const options = ['--bundle', '--minify', '--format=esm', '--platform=browser', '--target=es2022']
  const bundle = execFileSync(resolve('node_modules/.bin/esbuild'), ['page.js', ...options], { cwd: project })
  return gzipSync(bundle, { level: 9 }).length
}

suite('the packed SDK', () => {
  let project: string
  before(() => {
    const folder = temporaryDirectory()
    mkdirSync(folder, { recursive: true })
    project = createSdkProject(folder, packSdk(folder))
    cpSync(resolve('node_modules/@types/node'), join(project, 'node_modules/@types/node'), { recursive: true })
    cpSync(resolve('node_modules/undici-types'), join(project, 'node_modules/undici-types'), { recursive: true })
  })

  for (const world of ['browser', 'node'] as const)
    test(`the packed SDK type-checks in a strict project with the types of a ${world}`, () =>
      assert.equal(typeErrors(project, world), ''))

  test('the packed SDK runs in Node.js directly after its installation', () => {
    const text = `import { createClient, WaypostError } from '@waypost/sdk'
      const client = createClient({ url: 'http://127.0.0.1:1', attempts: 1 })
      try { await client.me.get() } catch (error) { console.log(error instanceof WaypostError, error.code) }`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', text], {
      cwd: project,
      encoding: 'utf8',
    })
    assert.equal(output, 'true unreachable\n')
  })

  test('a device over MQTT says that it needs the package mqtt, and does not try again', () => {
    const text = `import { connect } from '@waypost/sdk/device'
      try { await connect({ url: 'mqtt://127.0.0.1:1', version: 'v', token: 't' }) } catch (error) { console.log(error.message) }`
    const options = { cwd: project, encoding: 'utf8' } as const
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', text], options)
    assert.equal(output, 'MQTT needs the package mqtt: npm install mqtt\n')
  })

  test('a page with ten operations loads at most 12 KB of the SDK', () => {
    const bytes = bundleBytes(project, page)
    assert.ok(bytes <= bundleBytesMax, `${bytes} bytes`)
  })

  test('nouns that a page does not use are not in its bundle', () => {
    const all = page
      .replace('@waypost/sdk/core', '@waypost/sdk')
      .replace(/^import .*table'$/m, '')
      .replace('createClientOf({ applications, commands, endpoints, tokens }, ', 'createClient(')
      .replace('{ createClientOf }', '{ createClient }')
    assert.ok(bundleBytes(project, all) > bundleBytes(project, page) + 2000)
  })
})
