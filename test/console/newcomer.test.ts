/** The first five minutes: from the link that the first start prints to the first point of a real device, by mouse and by keyboard. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { checkAccessibility, checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { pythonWith } from '../harness/python.ts'

const run = promisify(execFile)
const shell = (text: string, options = {}) => run('sh', ['-c', text], { timeout: 60_000, ...options })

let opened: TestConsole
let firstLink: string

before(async () => {
  opened = await openConsole({ directory: temporaryDirectory() })
  await opened.browser.grantPermissions(['clipboard-read', 'clipboard-write'])
  // The browser logs every request that is rejected. Some requests are rejected with 503, because the console is still being built when it
  // is first opened.
  opened.expect(/status of (?:400|401|404|409|503)/)
  firstLink = await eventually(() => {
    const found = opened.platform.output().match(/(http\S+\/account\/choose-password\?token=\S+)/)
    return found?.[1] ?? assert.fail('there is no link yet')
  })
})

const copied = (page: Page) => page.evaluate<string>('navigator.clipboard.readText()')
const arrived = (page: Page) => page.getByText('The first message is here: temperature 21.5.').waitFor()

/** Returns the payloads of the messages of an endpoint as the API lists them. */
async function inboundOf(endpointId: string): Promise<string[]> {
  const ask = await opened.platform.asService(opened.platform.bootstrap.default)
  const { body } = await ask(`GET /api/v1/al/endpoint-traffic?endpointIds=${endpointId}`)
  const messages = body.content as { direction: string; payload: string }[]
  return messages.filter(({ direction }) => direction === 'INBOUND').map(({ payload }) => payload)
}

test('a newcomer needs at most seven interactions from the first link to a point sent with mosquitto_pub', async (t: TestContext) => {
  const begin = performance.now()
  let interactions = 0
  const page = await opened.browser.newPage()
  const click = async (role: 'button' | 'link', name: string) => {
    interactions++
    await page.getByRole(role, { name }).last().click()
  }
  await page.goto(firstLink)
  for (const field of await page.locator('input[type=password]').all()) {
    interactions++
    await field.fill('a good password 4 me')
  }
  await click('button', 'Set the password')
  await settled(page)
  await page.getByRole('heading', { name: 'Connect your first device' }).waitFor()
  await click('link', 'Connect a device')
  await click('button', 'Create and continue')
  await page.getByText('Waiting for the first message…').waitFor()
  await click('button', 'Copy')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const { stderr } = await shell(await copied(page))
  assert.equal(stderr, '', 'mosquitto_pub prints no warning')
  await arrived(page)
  await page.getByRole('slider', { name: /Values of the device/ }).waitFor()
  t.diagnostic(`${interactions} interactions, ${((performance.now() - begin) / 1000).toFixed(1)} s`)
  assert.ok(interactions <= 7, `${interactions} interactions`)

  const endpointId = new URL(page.url()).searchParams.get('endpoint')!
  assert.deepEqual(await inboundOf(endpointId), ['{"temperature": 21.5}'])
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state])',
  )
  const token = /dcx\/(\w+)\/json/.exec(await copied(page))![1]!
  assert.ok(!stored.includes(token), 'the token of the device is in memory only')
  await checkAccessibility(page, 'connect, with a point')
  await checkNarrow(page, 'connect, with a point')
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('by keyboard alone, a second device is connected: each snippet works unchanged, and the page itself acts as the device', async () => {
  const page = await opened.open('/')
  await settled(page)
  const press = (key: string) => page.keyboard.press(key)
  const focused = (name: string) => page.locator(':focus').filter({ hasText: name }).waitFor()
  const tabTo = async (name: string, key = 'Tab') => {
    for (let steps = 0; steps < 40; steps++) {
      await press(key)
      if (await page.locator(':focus').filter({ hasText: name }).count()) return
    }
    assert.fail(`the key ${key} does not reach ${name}`)
  }
  await press('Control+k')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('connect a')
  await page.getByRole('menuitem', { name: 'Connect a device' }).waitFor()
  await press('Enter')
  await page.waitForURL(/\/connect$/)
  await focused('Connect a device')
  await tabTo('Create and continue')
  await press('Enter')
  await page.waitForURL(/endpoint=/)
  await focused('Connect ')
  const endpointId = new URL(page.url()).searchParams.get('endpoint')!
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const python = (await shell(pythonWith('paho.mqtt.publish'))).stdout.trim()
  const attempts = [
    ['curl', 'device.sh', 'sh'],
    ['Node.js', 'device.mjs', process.execPath],
    ['Python', 'device.py', python],
  ] as const
  for (const [index, [name, file, program]] of attempts.entries()) {
    await tabTo(name, index === 0 ? 'Tab' : 'Shift+Tab')
    await press('Enter')
    await tabTo('Copy')
    await press('Enter')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const text = await copied(page)
    assert.match(text, /dcx\/\w+\/json/)
    writeFileSync(join(folder, file), text)
    await run(program, [file], { cwd: folder })
    await eventually(async () => assert.equal((await inboundOf(endpointId)).length, index + 1, name))
  }
  await arrived(page)
  await tabTo('This page', 'Shift+Tab')
  await press('Enter')
  await press('Tab')
  await press('Enter')
  await eventually(async () => assert.equal((await inboundOf(endpointId)).length, attempts.length + 1))
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('the page shows why a message was rejected, and keeps the input if the id of an endpoint is already used', async () => {
  const page = await opened.open('/connect')
  await page.getByLabel(/^Id of the device/).fill('porch-7')
  await page.getByRole('button', { name: 'Create and continue' }).click()
  const lines = page.locator('.code-view pre')
  await lines.waitFor()
  const text = await lines.innerText()
  const wrong = await shell(`${text.replace(/dcx\/\w+/, 'dcx/nonsense')} 2>&1`)
  assert.match(wrong.stdout, /Not authorized/)
  await page.getByText(/The refusal names no known device.*The token does not exist/).waitFor()
  await shell(`${text.replace('21.5}', '')} 2>&1`)
  await page.getByText(/rejected a message of this device with status 400.*malformed JSON/).waitFor()
  await checkAccessibility(page, 'connect, refused')
  await shell(text)
  await arrived(page)
  await page.getByText(/The token does not exist/).waitFor({ state: 'detached' })

  await page.reload()
  await page.getByRole('button', { name: 'Create a token' }).click()
  assert.match(await lines.innerText(), /dcx\/\w+\/json/, 'a page that is opened again makes another token')

  // The chart of the message moves the link. If the test did not wait, the link could move during the click.
  await arrived(page)
  await page.getByRole('link', { name: 'Connect another device' }).click()
  await page.getByLabel(/^Id of the device/).fill('porch-7')
  await page.getByRole('button', { name: 'Create and continue' }).click()
  await page.locator('.field-error, .note-bad').first().waitFor()
  assert.equal(await page.getByLabel(/^Id of the device/).inputValue(), 'porch-7')
  await page.goto(opened.address('/connect?endpoint=no-such-device'))
  await page.locator('.note-bad').first().waitFor()
  await page.close()
})

test('if the tenant requires a user name and a password, the page creates them and fills them in', async () => {
  const ask = await opened.platform.asService(opened.platform.bootstrap.default)
  const require = async (transports: object) => {
    const tenants = { default: { config: { transports } } }
    const { status, text } = await ask('PUT /api/v1/tenant-configs', { kpc: { platform: { tenants } } })
    assert.equal(status, 204, text)
  }
  const basic = { 'basic-auth': { required: true } }
  await require({ mqtt: { tcp: basic }, http: basic })
  const page = await opened.open('/connect')
  await page.getByRole('button', { name: 'Create and continue' }).click()
  await page.getByText('The tenant requires a user name and a password over MQTT.').waitFor()
  await page.getByRole('button', { name: 'Create them' }).click()
  const lines = page.locator('.code-view pre')
  await lines.waitFor()
  const { stderr } = await shell(await lines.innerText())
  assert.equal(stderr, '')
  await arrived(page)
  await page.getByRole('button', { name: 'This page' }).click()
  await page.getByText('The tenant does not accept devices over HTTP.').waitFor()
  await require({})
  assert.deepEqual(opened.problems, [])
})
