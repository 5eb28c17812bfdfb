/**
 * The fleet operator finds endpoints that send no messages, changes all matching endpoints with a job, and reads why a message was
 * rejected.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, openConsole, settled, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'
import { keyboardOf } from '../harness/keyboard.ts'

let console_: TestConsole
let page: Page
const tokens: Record<string, string> = {}

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters', displayName: 'Meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  for (const endpointId of ['meter-1', 'meter-2', 'meter-3']) {
    const name = `${endpointId} <img src=x onerror=alert(1)> \u202emarked`
    const { body } = await api('POST /epr/api/v1/endpoints', {
      ...{ endpointId, appVersion: { name: 'meters-v1' }, metadata: { name, serial: `S-${endpointId}` } },
    })
    tokens[endpointId] = body.token
  }
  page = await console_.open('/')
})

const metadataOf = async (endpointId: string) =>
  (await console_.api(`GET /epr/api/v1/endpoints/${endpointId}/metadata`)).body

test('after a preview, a job changes all endpoints that match a search', async () => {
  await page.goto(console_.address('/endpoints'))
  await settled(page)
  await page.getByRole('searchbox').fill('meter-')
  await page.waitForURL(/q=meter-/)
  await page.getByRole('link', { name: 'meter-3', exact: true }).waitFor()
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).click()
  await page.getByText('3 selected').waitFor()
  await page.getByRole('button', { name: 'Actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Change metadata' }).click()
  await page.getByRole('textbox', { name: /Changes/ }).fill('{"site": "north"}')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByText('This changes the metadata of 3 endpoints. Nothing has happened yet.').waitFor()
  await page.getByRole('dialog').getByText('"site": "north"').waitFor()
  assert.equal((await metadataOf('meter-1')).site, undefined)
  await page.keyboard.press('Escape')
  const ask = page.getByRole('alertdialog', { name: 'Discard what you typed?' })
  await ask.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Back' }).click()
  assert.equal(await page.getByRole('textbox', { name: /Changes/ }).textContent(), '{"site": "north"}')
  await eventually(async () => {
    const previews = (await console_.api('GET /jobs/api/v1/jobs?state=prepared')).body
    assert.deepEqual(previews.content, [])
  })
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('button', { name: 'Start for 3 endpoints' }).click()
  await page.getByText('3 / 3').waitFor()
  await page.getByText('Finished').waitFor()
  await settled(page)
  await page.getByRole('main').getByRole('link', { name: 'admin', exact: true }).waitFor()
  await checkAccessibility(page, 'job')
  for (const endpointId of ['meter-1', 'meter-2', 'meter-3']) assert.equal((await metadataOf(endpointId)).site, 'north')
  const jobs = (await console_.api('GET /jobs/api/v1/jobs?state=finished')).body
  assert.deepEqual(jobs.content[0].counts, { total: 3, succeeded: 3, failed: 0, pending: 0 })
})

test('by keyboard alone, the operator changes all matching endpoints with a job', async () => {
  const { press, type, moveTo, activate, enterTable, open, choose } = keyboardOf(page)
  await open('Endpoints', 'Endpoints')
  await settled(page)
  await press('/')
  await type('meter-')
  await page.waitForURL(/q=meter-/)
  await page.getByRole('link', { name: 'meter-3', exact: true }).waitFor()
  await enterTable()
  await moveTo('checkbox', 'Select all rows that are loaded', 'ArrowLeft')
  await press('Space')
  await page.getByText('3 selected').waitFor()
  await moveTo('button', 'Actions', 'Shift+Tab')
  await choose('Actions', 'Change metadata')
  await moveTo('textbox', /Changes/)
  await press('Control+A')
  await type('{"site": "south"}')
  await activate('button', 'Preview')
  await page.getByText('This changes the metadata of 3 endpoints. Nothing has happened yet.').waitFor()
  await activate('button', 'Start for 3 endpoints')
  await page.getByText('3 / 3').waitFor()
  await page.getByText('Finished').waitFor()
  for (const endpointId of ['meter-1', 'meter-2', 'meter-3']) assert.equal((await metadataOf(endpointId)).site, 'south')
})

test('the page of a job shows the results of items that end after the page has last read the items', async () => {
  const select = { endpointIds: ['meter-1', 'meter-2'] }
  const { body } = await console_.api('POST /jobs/api/v1/jobs/metadata-patches', { select, merge: { site: 'west' } })
  const address = `**/jobs/api/v1/jobs/${body.jobId}`
  await eventually(async () => {
    assert.equal((await console_.api(`GET /jobs/api/v1/jobs/${body.jobId}`)).body.state, 'finished')
  })
  // The first responses are those of a job in progress, as if the job ended directly afterwards.
  await page.route(address, async (route) => {
    const response = await route.fetch()
    const counts = { total: 2, succeeded: 0, failed: 0, pending: 2 }
    await route.fulfill({ response, json: { ...(await response.json()), state: 'running', counts } })
  })
  await page.route(`${address}/items*`, async (route) => {
    const response = await route.fetch()
    const { content, ...more } = await response.json()
    const pending = content.map((item: object) => ({ ...item, state: 'pending' }))
    await route.fulfill({ response, json: { ...more, content: pending } })
  })
  await page.goto(console_.address(`/jobs/${body.jobId}`))
  await page.getByRole('row', { name: /meter-1.*Not done/ }).waitFor()
  await page.unroute(`${address}/items*`)
  await page.unroute(address)
  await page.getByText('Finished', { exact: true }).waitFor()
  for (const id of ['meter-1', 'meter-2'])
    await page.getByRole('row', { name: new RegExp(`${id}.*\\bDone`) }).waitFor({ timeout: 10_000 })
})

test('the page of a job that sent a command says what "Done" means, and has a link to the commands', async () => {
  const select = { endpointIds: ['meter-1', 'meter-2'] }
  const { body } = await console_.api('POST /jobs/api/v1/jobs/commands', { select, commandType: 'blink' })
  await page.goto(console_.address(`/jobs/${body.jobId}`))
  await page.getByText('Done means that the platform has stored the command').waitFor()
  await page.getByText('command 1', { exact: true }).first().waitFor()
  await page.getByRole('link', { name: 'Show the commands' }).click()
  await page.waitForURL(/\/commands\?application=meters&types=blink/)
  await page.getByText('blink 1').first().waitFor()
  await page.getByRole('link', { name: 'meter-2', exact: true }).waitFor()
})

test('by keyboard alone, metadata is edited; a change that another caller made meanwhile is not overwritten', async () => {
  await page.goto(console_.address('/endpoints/meter-2?tab=metadata'))
  await settled(page)
  await page.getByRole('button', { name: 'Edit' }).focus()
  await page.keyboard.press('Enter')
  const serial = page.getByRole('textbox', { name: 'Value serial' })
  await serial.focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('S-200')
  await console_.api('PUT /epr/api/v1/endpoints/meter-2/metadata/floor', 3)
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog', { name: 'Somebody else has changed this' }).waitFor()
  await checkAccessibility(page, 'conflict')
  assert.equal((await metadataOf('meter-2')).serial, 'S-meter-2')
  await page.getByRole('button', { name: 'Save mine' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Metadata saved').waitFor()
  const { serial: saved, floor } = await metadataOf('meter-2')
  assert.deepEqual([saved, floor], ['S-200', 3])
})

test('the timeline shows a message with its response, and why the message was rejected', async () => {
  const send = (payload: string) =>
    fetch(`${console_.platform.baseUrl}/kp1/meters-v1/dcx/${tokens['meter-1']}/json`, {
      ...{ method: 'POST', body: payload, headers: { 'content-type': 'application/json' } },
    })
  assert.equal((await send('{"temperature": 21.5}')).status, 200)
  assert.equal((await send('{"temperature":')).status, 400)
  await eventually(async () => {
    const { body } = await console_.api('GET /api/v1/al/endpoint-traffic?endpointIds=meter-1')
    assert.equal(body.totalElements, 3)
  })
  await page.goto(console_.address('/endpoints/meter-1?tab=timeline'))
  await settled(page)
  const rejected = page.locator('details', { hasText: 'Rejected with 400' })
  await rejected.waitFor()
  assert.equal(await page.locator('details', { hasText: 'The device sent samples' }).count(), 2)
  await rejected.locator('summary').focus()
  await page.keyboard.press('Enter')
  await rejected.locator('pre', { hasText: '{"temperature":' }).first().waitFor()
  await checkAccessibility(page, 'timeline')
  await page.goto(console_.address('/endpoints/meter-1'))
  await page
    .getByRole('row', { name: /temperature 21.5/ })
    .getByRole('link')
    .click()
  await page.waitForURL(/\/endpoints\/meter-1\?tab=history&series=/)
  await page.getByRole('slider').waitFor()
})

test('while the commands of an endpoint are being read, its timeline neither counts events nor says that there are none', async () => {
  let release = () => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/cex/api/v1/**', async (route) => {
    await isReleased
    await route.continue()
  })
  await page.goto(console_.address('/endpoints/meter-1?tab=timeline&q=nothing-like-this'))
  const software = page.getByRole('button', { name: /^Software \d+$/ })
  await software.waitFor()
  for (const name of ['All', 'Problems', 'Commands']) await page.getByRole('button', { name, exact: true }).waitFor()
  assert.equal(await page.getByText('Nothing happened in this time').count(), 0)
  release()
  await page.getByText('Nothing happened in this time').waitFor()
  await page.getByRole('button', { name: /^Commands \d+$/ }).waitFor()
  await page.unroute('**/cex/api/v1/**')
})

test('if the tokens of an endpoint cannot be read, the page shows the reason, and does not say that there are none', async () => {
  const address = '**/api/v1/endpoints/meter-1/tokens*'
  const none = page.getByText('Without a token the device cannot send')
  console_.expect(/404.*tokens/)
  await page.route(address, (route) => route.fulfill({ status: 404, json: { message: 'the tokens are closed' } }))
  await page.goto(console_.address('/endpoints/meter-1?tab=access'))
  await page.getByText('the tokens are closed').waitFor()
  assert.equal(await none.count(), 0)
  await page.unroute(address)
  await page.reload()
  await page
    .getByRole('row', { name: /Active/ })
    .first()
    .waitFor()
  assert.equal(await none.count(), 0)
})

test('a deletion shows how many other objects are deleted too, and afterwards the API does not find the endpoint', async () => {
  await page.goto(console_.address('/endpoints?q=meter-3'))
  await settled(page)
  await page.getByRole('checkbox', { name: 'Select meter-3' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(/This deletes 1 endpoint with its tokens/).waitFor()
  await page.getByRole('button', { name: 'Delete 1 endpoint' }).click()
  await page.getByText('1 / 1').waitFor()
  assert.equal((await console_.api('GET /epr/api/v1/endpoints/meter-3')).status, 404)
  assert.deepEqual(console_.problems, [])
})

test('the page of an endpoint shows its connection, even if its id is a part of many other ids', async () => {
  for (const endpointId of [...Array.from({ length: 25 }, (_, at) => `gate-7-${at}`), '7'])
    await console_.api('POST /epr/api/v1/endpoints', { endpointId, appVersion: { name: 'meters-v1' } })
  await page.goto(console_.address('/endpoints/7'))
  await page.locator('.endpoint-strip').getByText('Never connected').waitFor({ timeout: 10_000 })
})
