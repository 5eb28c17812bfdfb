/** An operator sends a command, pauses and resumes a rollout, and changes a default configuration. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, openConsole, settled, type TestConsole } from '../harness/console.ts'

let console_: TestConsole
let page: Page
const software = '/otao/api/v1/applications/pumps/software'

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'pumps', displayName: 'Pumps <b>north</b>' })
  await api('POST /api/v1/applications/pumps/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', { endpointId: 'pump-1', appVersion: { name: 'pumps-v1' } })
  await api(`POST ${software}/1.0.0`, { rolloutStrategy: 'general' })
  await api(`POST ${software}/1.1.0`, { rolloutStrategy: 'general', upgradableFrom: ['1.0.0'] })
  page = await console_.open('/')
})

test('a command is sent to an endpoint, is pending, and a payload that is no JSON is not sent', async () => {
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
    assert.equal(await state(), after)
  }
})

test('a default configuration is changed after its difference is shown; a change by another caller is not overwritten', async () => {
  const path = '/ecr/api/v1/app-versions/pumps-v1'
  await console_.api(`PUT ${path}`, { interval: 60 })
  const current = async () => JSON.parse((await console_.api(`GET ${path}`)).body.config)
  await page.goto(console_.address('/configuration?application=pumps&version=pumps-v1'))
  await settled(page)
  const editor = page.getByRole('textbox', { name: /^Default configuration/ })
  await editor.focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('{ "interval": 30 }')
  await page.getByText('removed: "interval": 60').waitFor()
  await console_.api(`PUT ${path}`, { interval: 90 })
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Somebody else has changed the configuration meanwhile.').waitFor()
  assert.deepEqual(await current(), { interval: 90 })
  await page.getByText('removed: "interval": 90').waitFor()
  await checkAccessibility(page, 'difference')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await page.getByText('Configuration saved').waitFor()
  assert.deepEqual(await current(), { interval: 30 })
  await page.getByRole('link', { name: 'Statuses' }).click()
  await page.getByRole('link', { name: 'pump-1' }).waitFor()
  assert.deepEqual(console_.problems, [])
})
