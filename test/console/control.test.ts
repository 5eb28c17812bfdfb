/** An operator sends a command, uploads software, rolls it out, and changes a default configuration. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'
import { keyboardOf } from '../harness/keyboard.ts'

let console_: TestConsole
let page: Page
let token: string
const software = '/otao/api/v1/applications/pumps/software'

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'pumps', displayName: 'Pumps <b>north</b>' })
  await api('POST /api/v1/applications/pumps/app-versions', { nameSuffix: 'v1' })
  const registered = await api('POST /epr/api/v1/endpoints', { endpointId: 'pump-1', appVersion: { name: 'pumps-v1' } })
  token = registered.body.token
  await api(`POST ${software}/1.0.0`, { rolloutStrategy: 'general' })
  await api(`POST ${software}/1.1.0`, { rolloutStrategy: 'general', upgradableFrom: ['1.0.0'] })
  page = await console_.open('/')
})

/** Reports as the device that it has applied a software version. */
async function report(configId: string, more: object = {}) {
  const body = JSON.stringify({ configId, ...more })
  const address = `${console_.platform.baseUrl}/kp1/pumps-v1/cmx_ota/${token}/applied/json`
  assert.equal((await fetch(address, { method: 'POST', body })).status, 200)
}

test('a command is sent to an endpoint and is pending; a payload that is not JSON is not sent', async () => {
  await page.goto(console_.address('/commands?application=pumps'))
  await settled(page)
  await page.getByRole('button', { name: 'Send a command' }).click()
  await page.getByRole('textbox', { name: /^Endpoint/ }).fill('pump-1')
  await page.getByRole('textbox', { name: /^Type/ }).fill('reboot')
  const payload = page.getByRole('textbox', { name: /^Payload/ })
  await payload.focus()
  await page.keyboard.insertText('{"delay": ')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('alert').waitFor()
  const list = async () => (await console_.api('GET /cex/api/v1/endpoints/commands/pumps')).body.content
  assert.deepEqual(await list(), [])
  await payload.focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('{"delay": 5}')
  await checkAccessibility(page, 'send a command')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('reboot 1').waitFor()
  const [command] = await list()
  assert.deepEqual([command.endpointId, command.status, command.requestPayload], ['pump-1', 'PENDING', { delay: 5 }])
  await page.getByRole('button', { name: /^Expired/ }).click()
  await page.getByText('Nothing matches').waitFor()
  await page.goto(console_.address('/endpoints/pump-1?tab=commands'))
  const row = page.getByRole('row').filter({ hasText: 'reboot 1' })
  assert.equal(await row.getByRole('cell').nth(2).innerText(), '—', 'a command without a result has one dash')
})

test('by keyboard alone, a rollout is paused and resumed', async () => {
  await page.goto(console_.address('/software?application=pumps'))
  await settled(page)
  await page.getByRole('link', { name: '1.1.0' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: '1.1.0' }).waitFor()
  await page.getByText('No endpoint would be offered this version now.').waitFor()
  const state = async () => (await console_.api(`GET ${software}/1.1.0`)).body.rolloutState
  for (const [name, after] of [
    ['Pause', 'paused'],
    ['Resume', 'active'],
  ] as const) {
    await page.getByRole('button', { name, exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('alertdialog').getByRole('button', { name, exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(`Rollout ${name.toLowerCase()}d`).waitFor()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    assert.equal(await state(), after)
  }
})

test('if a rollout is paused while the dialog "Pause" is open, the dialog does not become the dialog "Resume"', async () => {
  await page.goto(console_.address('/software/pumps/1.1.0'))
  await settled(page)
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Pause the rollout of 1.1.0?' })
  await dialog.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await console_.api(`POST ${software}/1.1.0/pause`)
  // The report of a device makes the page read the version again.
  await report('1.0.0')
  await dialog.getByText('This has changed while the dialog was open').waitFor()
  await checkAccessibility(page, 'outdated dialog')
  for (const name of ['Pause', 'Resume'])
    assert.equal(await page.getByRole('alertdialog').getByRole('button', { name, exact: true }).count(), 0)
  await dialog.getByText('Close', { exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  const resume = page.getByRole('alertdialog', { name: 'Resume the rollout of 1.1.0?' })
  await resume.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.getByText('Rollout resumed').waitFor()
  assert.equal((await console_.api(`GET ${software}/1.1.0`)).body.rolloutState, 'active')
})

test('a version is created, its file is uploaded with its checksum, and its rollout is started', async () => {
  await page.goto(console_.address('/software?application=pumps'))
  await settled(page)
  await page.keyboard.press('c')
  await page.getByRole('heading', { level: 1, name: 'New software version' }).waitFor()
  const version = page.getByRole('textbox', { name: /^Version/ })
  await version.fill('two')
  console_.expect(/400/)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('expected a semantic version').waitFor()
  await version.fill('2.0.0')
  await page.getByRole('textbox', { name: /^Name of the file/ }).fill('pump.bin')
  await checkAccessibility(page, 'new version')
  await checkNarrow(page, 'new version')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { level: 1, name: '2.0.0' }).waitFor()
  const read = async () => (await console_.api(`GET ${software}/2.0.0`)).body
  const { upgradableFrom, rolloutStrategy, failureThreshold } = await read()
  assert.deepEqual([upgradableFrom, rolloutStrategy], [['1.1.0'], 'suspended'])
  assert.deepEqual(failureThreshold, { percent: 10, minimumAttempts: 10 })

  const upload = async (name: string) => {
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose a file' }).click()
    await (await chooser).setFiles({ name, mimeType: 'application/octet-stream', buffer: content })
  }
  const content = Buffer.alloc(300_000, 'pump')
  await upload('other.bin')
  await page.getByText('the version takes only a file with the name pump.bin').waitFor()
  // The request never gets a response, so that the test can cancel it.
  await page.route('**/software/2.0.0/file*', () => {})
  await upload('pump.bin')
  await page.getByRole('progressbar', { name: 'Uploading pump.bin' }).waitFor()
  await checkAccessibility(page, 'upload')
  await page.getByRole('button', { name: 'Cancel the upload' }).click()
  await page.getByText('The upload was canceled.').waitFor()
  assert.equal((await read()).fileSize, undefined)
  await page.unroute('**/software/2.0.0/file*')
  await page.getByRole('button', { name: 'Upload again' }).click()
  await page.getByText('its checksum matches the checksum of your file').waitFor()
  assert.equal((await read()).fileChecksum, createHash('sha256').update(content).digest('hex'))

  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Endpoints of filters' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('Choose at least one filter.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'All that can upgrade' }).click()
  await checkAccessibility(page, 'start a rollout')
  await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('Rollout started').waitFor()
  assert.equal((await read()).rolloutStrategy, 'general')
  await page.getByRole('button', { name: /^All that can upgrade If it were offered to/ }).waitFor()
})

test('reports of devices change the counts immediately; a failure is shown with its reason, and the version is offered again', async () => {
  await report('1.1.0')
  await report('2.0.0', { statusCode: 507, reasonPhrase: 'flash <b>full</b>' })
  await page.getByText('flash <b>full</b>').waitFor()
  await checkAccessibility(page, 'failed endpoints')
  await page.getByRole('button', { name: 'Offer it to pump-1 again' }).click()
  await page.getByText('1 endpoint is offered the version again').waitFor()
  await page.getByText('flash <b>full</b>').waitFor({ state: 'detached' })
  const { counts } = (await console_.api(`GET ${software}/2.0.0/rollout`)).body
  assert.deepEqual(counts, { waiting: 1, offered: 0, applied: 0, failed: 0 })
})

test('two people edit one version: the person who saves later sees the difference and loses nothing', async () => {
  await page.goto(console_.address('/software/pumps/2.0.0/edit'))
  await settled(page)
  await page.getByRole('textbox', { name: /^Failures in %/ }).fill('25')
  await page.keyboard.press('Tab')
  await console_.api(`PUT ${software}/2.0.0`, { rolloutStrategy: 'suspended', upgradableFrom: ['1.0.0'] })
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Somebody else has changed this' })
  await dialog.getByRole('row', { name: /rolloutStrategy suspended Not changed by you/ }).waitFor()
  await checkAccessibility(page, 'conflict of a version')
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await page.getByText('Software version saved').waitFor()
  const { rolloutStrategy, failureThreshold } = (await console_.api(`GET ${software}/2.0.0`)).body
  assert.deepEqual([rolloutStrategy, failureThreshold.percent], ['suspended', 25])
})

test('a version that is suspended after an offer is shown as suspended in the list, on its page, and at the endpoint with the offer', async () => {
  const versionOf = async () => (await console_.api(`GET ${software}/1.1.0`)).body
  const set = (rolloutStrategy: string) =>
    console_.api(`PUT ${software}/1.1.0`, { rolloutStrategy, upgradableFrom: ['1.0.0'] })
  await set('general')
  await report('1.0.0')
  const address = `${console_.platform.baseUrl}/kp1/pumps-v1/cmx_ota/${token}/config/json`
  assert.equal((await fetch(address, { method: 'POST', body: '{"configId": "1.0.0"}' })).status, 200)
  await set('suspended')
  assert.equal((await versionOf()).rolloutStrategy, 'suspended')

  await page.goto(console_.address('/software?application=pumps'))
  await settled(page)
  await page.getByRole('row', { name: /^1\.1\.0.*Suspended.*Nobody \(suspended\)/ }).waitFor()
  await page.getByRole('link', { name: '1.1.0' }).click()
  await page.getByRole('heading', { level: 1, name: '1.1.0' }).waitFor()
  await page.getByText('Suspended', { exact: true }).waitFor()
  await page.goto(console_.address('/endpoints/pump-1?tab=software'))
  await page
    .getByRole('definition')
    .filter({ hasText: /^1\.1\.0 Suspended$/ })
    .waitFor()
})

test('a default configuration is changed after its difference is shown; a change by another caller is not overwritten', async () => {
  const path = '/ecr/api/v1/app-versions/pumps-v1'
  await console_.api(`PUT ${path}`, { interval: 60, unit: 's' })
  const current = async () => JSON.parse((await console_.api(`GET ${path}`)).body.config)
  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1'))
  await settled(page)
  const editor = page.getByRole('textbox', { name: /^Default configuration/ })
  await editor.focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('{ "interval": 30, "unit": "s" }')
  await page.getByText('removed: "interval": 60').waitFor()
  await console_.api(`PUT ${path}`, { interval: 90, unit: 's', retries: 3 })
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Somebody else has changed the configuration meanwhile.').waitFor()
  assert.deepEqual(await current(), { interval: 90, unit: 's', retries: 3 })
  await page.getByText('removed: "interval": 90').waitFor()
  await checkAccessibility(page, 'difference')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Configuration saved').waitFor()
  assert.deepEqual(await current(), { interval: 30, unit: 's', retries: 3 })
  await page.getByRole('link', { name: 'Statuses', exact: true }).click()
  await page.getByRole('link', { name: 'pump-1' }).waitFor()
})

/** Gives the version a schema of configurations. */
async function setSchema(schema: object) {
  const versions = { 'pumps-v1': { endpointConfigurationSchema: JSON.stringify(schema) } }
  const body = { ecr: { platform: { applications: { pumps: { versions } } } } }
  const answer = await console_.api('PUT /api/v1/app-configs/applications/pumps/app-versions/pumps-v1', body)
  assert.equal(answer.status, 204)
}

test('a configuration is edited in a form from its schema; unknown keys stay, and errors are shown at their fields', async () => {
  const path = '/ecr/api/v1/app-versions/pumps-v1'
  await console_.api(`PUT ${path}`, { interval: 30, vendor: { mode: [1.23456, null] } })
  await setSchema({
    type: 'object',
    required: ['interval'],
    properties: {
      interval: { type: 'integer', title: 'Interval <b>in s</b>', minimum: 10 },
      pump: { oneOf: [{ const: 'off' }, { type: 'object', title: 'On', properties: { speed: { type: 'number' } } }] },
      note: { type: ['string', 'null'], maxLength: 5 },
    },
  })
  const current = async () => JSON.parse((await console_.api(`GET ${path}`)).body.config)
  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1'))
  await settled(page)
  const interval = page.getByRole('textbox', { name: /^Interval <b>in s<\/b>/ })
  await interval.fill('5')
  await checkAccessibility(page, 'form of a configuration')
  await checkNarrow(page, 'form of a configuration')
  console_.expect(/422/)
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('must be >= 10', { exact: true }).waitFor()
  assert.equal(await interval.inputValue(), '5')
  await interval.fill('45')
  await page.getByRole('button', { name: /Not set pump/ }).click()
  await page.getByRole('option', { name: 'On' }).click()
  await page.getByRole('textbox', { name: /^speed/ }).fill('0.12345')
  await page.getByText('added: "speed": 0.12345').waitFor()
  const other = page.getByRole('textbox', { name: /^Other keys/ })
  await other.focus()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText(',')
  await page.getByText('A text in the form is not valid JSON.').waitFor()
  await page.getByRole('button', { name: 'Save and send' }).click()
  assert.equal((await current()).interval, 30)
  await page.keyboard.press('Control+End')
  await other.focus()
  await page.keyboard.press('Control+End')
  await page.keyboard.press('Backspace')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Configuration saved').waitFor()
  assert.deepEqual(await current(), { interval: 45, vendor: { mode: [1.23456, null] }, pump: { speed: 0.12345 } })
})

test('one configuration is given to chosen endpoints and to a filter, and its statuses are shown', async () => {
  const own = async () => {
    const { body } = await console_.api('GET /ecr/api/v1/endpoints/pump-1/app-versions/pumps-v1')
    return JSON.parse(body.config)
  }
  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1&tab=apply'))
  await settled(page)
  await page.getByRole('textbox', { name: /^Interval/ }).fill('77')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Choose who gets the configuration.').waitFor()
  await page.getByRole('button', { name: /^Endpoints: / }).click()
  await page.getByRole('option', { name: 'pump-1' }).click()
  await page.keyboard.press('Escape')
  await checkAccessibility(page, 'apply a configuration')
  await checkNarrow(page, 'apply a configuration')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Save and send' }).click()
  await page.getByRole('link', { name: 'Watch their statuses' }).waitFor()
  assert.equal((await own()).interval, 77)
  await page.getByRole('link', { name: 'Watch their statuses' }).click()
  await page.getByText('Only one configuration is shown.').waitFor()
  await page.getByRole('button', { name: 'Not sent 1' }).waitFor()

  const filters = '/epr/api/v1/applications/pumps/filters'
  const { id } = (await console_.api(`POST ${filters}`, { name: 'all pumps', documentQuery: {} })).body
  await eventually(async () => assert.equal((await console_.api(`GET ${filters}/${id}`)).body.status, 'active'))
  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1&tab=apply'))
  await settled(page)
  await page.getByRole('button', { name: 'A filter' }).click()
  await page.getByRole('button', { name: /Filter filterId/ }).click()
  await page.getByRole('option', { name: 'all pumps' }).click()
  await page.getByRole('textbox', { name: /^Interval/ }).fill('88')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Save and send' }).click()
  await page.getByRole('link', { name: 'Watch their statuses' }).waitFor()
  assert.equal((await own()).interval, 88)

  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1&tab=statuses&config=unknown'))
  await page.getByText('No endpoint has this status and id.').waitFor()
  await page.getByRole('button', { name: 'Clear the conditions' }).click()
  await page.getByRole('link', { name: 'pump-1' }).waitFor()
  assert.deepEqual(console_.problems, [])
})

test('by keyboard alone, a developer creates a version, connects a device, reads its traffic, and sends a command that the device answers', async () => {
  const { press, reach, activate, fill, enterTable, arrive, open, pick } = keyboardOf(page)
  const { api } = console_
  await open('Applications', 'Applications')
  await settled(page)
  await enterTable()
  await press('ArrowDown')
  // The focus moves to the link in the next frame.
  await page.getByRole('link', { name: 'pumps' }).and(page.locator(':focus')).waitFor()
  await press('Enter')
  await arrive('Pumps <b>north</b>')
  await activate('button', 'New version')
  await fill(/^Suffix/, 'v2')
  await activate('button', 'Create')
  await page.getByRole('rowheader', { name: 'pumps-v2' }).waitFor()

  await open('Connect a device', 'Connect a device')
  await pick(/Application version/, 'pumps-v2')
  await fill(/^Id of the device/, 'pump-2')
  await activate('button', 'Create and continue')
  await arrive('Connect pump-2')
  await activate('button', 'This page')
  await activate('button', 'Send')
  await page.getByText('The first message is here: temperature 21.5.').waitFor()
  await activate('link', 'Open the endpoint')
  await arrive('pump-2')
  await activate('link', 'Timeline')
  await page.locator('details', { hasText: 'The device sent samples' }).waitFor()
  await reach(page.locator('summary', { hasText: 'The device sent samples' }))
  await press('Enter')
  await page.locator('pre', { hasText: '{"temperature":21.5}' }).first().waitFor()

  await activate('link', 'Commands', 'Shift+Tab')
  await fill(/^Type/, 'blink')
  await fill(/^Payload/, '{"times": 2}')
  await activate('button', 'Send')
  const { body } = await api('POST /api/v1/endpoints/pump-2/tokens', { applicationName: 'pumps' })
  const device = `POST /kp1/pumps-v2/cex/${body.token}`
  await eventually(async () => assert.match((await api(`${device}/command/blink`, {})).text, /"times":2/))
  await api(`${device}/result/blink`, [{ id: 1, statusCode: 200, payload: { blinked: 2 } }])
  await page.getByRole('row', { name: /blink 1 Executed/ }).waitFor()
  const command = (await api('GET /cex/api/v1/endpoints/pump-2/commands/blink/1')).body
  assert.deepEqual([command.status, command.responsePayload], ['EXECUTED', { blinked: 2 }])
  assert.deepEqual(console_.problems, [])
})
