/** A developer automates a greenhouse: writes a rule, tries and replays it, stores snippets and secrets, and creates alert settings. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { client } from '../harness/client.ts'
import { checkAccessibility, checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'

let console_: TestConsole
let page: Page
let token: string
const hostile = 'too hot <img src=x onerror=alert(1)> \u202emarked'

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'rooms' })
  await api('POST /api/v1/applications/rooms/app-versions', { nameSuffix: 'v1' })
  token = (await api('POST /epr/api/v1/endpoints', { endpointId: 'room-1', appVersion: { name: 'rooms-v1' } })).body
    .token
  page = await console_.open('/')
})

const onlyRule = async () => (await console_.api('GET /re/api/v1/rules')).body.content[0]

/** Replaces the text of an editor by keyboard, because an editor is not a plain input element. */
async function typeInto(label: RegExp, text: string) {
  await page.getByRole('textbox', { name: label }).focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

test('by keyboard alone, a rule is written; a script with a syntax error is rejected at its field', async () => {
  await page.goto(console_.address('/rules'))
  await settled(page)
  await page.keyboard.press('c')
  await page.getByRole('heading', { level: 1, name: 'New rule' }).waitFor()
  await page.getByRole('textbox', { name: /^Name/ }).focus()
  await page.keyboard.type('x')
  await page.getByRole('textbox', { name: /^Name/ }).fill(hostile)
  await typeInto(/^Script/, 'return (1')
  console_.expect(/400/)
  await page.getByRole('button', { name: 'Create' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alert').first().waitFor()
  assert.equal(await onlyRule(), undefined)
  await typeInto(/^Script/, 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].temperature > 30')
  await page.getByRole('button', { name: 'Create' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'too hot <img' }).waitFor()
  assert.equal((await onlyRule()).name, hostile)
})

test('a trigger and an action are created in forms and linked; a wrong field is named', async () => {
  await page.getByRole('button', { name: 'Link a trigger' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('samples of room-1')
  console_.expect(/400/)
  await dialog.getByRole('button', { name: 'Link', exact: true }).click()
  await dialog.getByRole('alert').first().waitFor()
  await dialog.getByRole('button', { name: 'Add an item' }).click()
  await dialog.getByRole('textbox', { name: /^Item 1/ }).fill('room-1')
  await checkAccessibility(page, 'link a trigger')
  await dialog.getByRole('button', { name: 'Link', exact: true }).click()
  await page.getByRole('button', { name: 'Unlink samples of room-1' }).waitFor()
  await page.getByRole('button', { name: 'Link an action' }).click()
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('open the alert')
  await dialog.getByRole('textbox', { name: /^Message message/ }).fill('It is too hot here')
  await dialog.getByRole('button', { name: 'Link', exact: true }).click()
  await page.getByRole('button', { name: 'Unlink open the alert' }).waitFor()
  const { id } = await onlyRule()
  const triggers = (await console_.api(`GET /re/api/v1/rules/${id}/triggers`)).body
  assert.deepEqual(
    triggers.map(({ type, name }: { type: string; name: string }) => [type, name]),
    [['ENDPOINT_DATA_SAMPLES_RECEIVED', 'samples of room-1']],
  )
  const actions = (await console_.api(`GET /re/api/v1/rules/${id}/actions`)).body
  const [action] = actions.positiveActions
  assert.equal(action.type, 'ALERT_ACTIVATION')
  const storedAction = (await console_.api(`GET /re/api/v1/action-types/alert-activation/actions/${action.id}`)).body
  assert.deepEqual([storedAction.message, storedAction.severityLevel], ['It is too hot here', 'HIGH'])
  assert.deepEqual(actions.negativeActions, [])
})

test('a trigger is changed beside the script; the script is tried before it is saved; a change by another caller is shown', async () => {
  const { id } = await onlyRule()
  const [{ id: triggerId }] = (await console_.api(`GET /re/api/v1/rules/${id}/triggers`)).body
  const path = `/re/api/v1/trigger-types/endpoint-data-samples-received/triggers/${triggerId}`
  const trigger = async () => (await console_.api(`GET ${path}`)).body
  await page.goto(console_.address(`/rules/${id}/edit`))
  await settled(page)
  await typeInto(/^Script/, 'return 1 + 1 === 2')
  await page.getByRole('textbox', { name: /^Endpoint/ }).fill('room-1')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('The script returned true.').waitFor()
  await checkAccessibility(page, 'edit a rule')
  await checkNarrow(page, 'edit a rule')
  assert.match((await onlyRule()).expression, /temperature/)

  await page.getByRole('button', { name: 'Edit samples of room-1' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit the trigger' })
  await dialog.getByRole('textbox', { name: /^Description/ }).fill('mine')
  await console_.api(`PUT ${path}`, { name: 'theirs', endpointIds: ['room-1'], metadata: { kept: true } })
  console_.expect(/412/)
  await dialog.getByRole('button', { name: 'Save' }).click()
  const conflict = page.getByRole('alertdialog', { name: 'Somebody else has changed this' })
  await conflict.getByRole('row', { name: /name theirs Not changed by you/ }).waitFor()
  await checkAccessibility(page, 'conflict of a trigger')
  await conflict.getByRole('button', { name: 'Save mine' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  const { name, description, endpointIds } = await trigger()
  assert.deepEqual([name, description, endpointIds], ['theirs', 'mine', ['room-1']])
})

test('a test run shows the effects that the rule would have, and changes nothing', async () => {
  const { id } = await onlyRule()
  await page.goto(console_.address(`/rules/${id}?tab=try`))
  await settled(page)
  await page.getByRole('textbox', { name: /^Endpoint/ }).fill('room-1')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('The script returned true.').waitFor()
  await page.getByText('The positive actions run.').waitFor()
  await page.getByText('HIGH_TEMPERATURE').first().waitFor()
  await checkAccessibility(page, 'try')
  assert.equal((await console_.api('GET /re/api/v1/alerts')).body.totalElements, 0)
})

test('a run of a real sample is shown with its reason, and its event can be tried again', async () => {
  const { id } = await onlyRule()
  const sent = await fetch(`${console_.platform.baseUrl}/kp1/rooms-v1/dcx/${token}/json`, {
    ...{ method: 'POST', body: '{"temperature": 12}', headers: { 'content-type': 'application/json' } },
  })
  assert.equal(sent.status, 200)
  await eventually(async () => assert.equal((await onlyRule()).statistics.count, 1))
  await page.goto(console_.address(`/rules/${id}?tab=runs`))
  await settled(page)
  await page.getByText('Returned false').first().waitFor()
  await page.getByRole('button', { name: 'Rule', exact: true }).first().click()
  await page.getByRole('dialog', { name: 'One chain of runs' }).waitFor()
  await checkAccessibility(page, 'chain')
  await page.getByRole('link', { name: 'Try this event again' }).click()
  await page.getByRole('textbox', { name: /^Trace id of/ }).waitFor()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await page.getByText('The script returned false.').waitFor()
})

test('a replay compares a changed script with the earlier results, and a replay that has ended is not canceled', async () => {
  const { id } = await onlyRule()
  const replays = `/re/api/v1/rules/${id}/replays`
  await page.goto(console_.address(`/rules/${id}?tab=replay`))
  await settled(page)
  await typeInto(/^Script/, 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].temperature > 10')
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('Completed').first().waitFor()
  const row = page.getByRole('row', { name: /room-1/ })
  assert.match(await row.innerText(), /false\s+true/)
  await checkAccessibility(page, 'replay')
  const { content } = (await console_.api(`GET ${replays}`)).body
  assert.deepEqual([content.length, content[0].status, content[0].differencesCount], [1, 'COMPLETED', 1])
  // The route makes the page show the replay as running, although it has ended. When the page cancels the replay, the platform responds
  // that the replay has ended.
  await page.route(`**${replays}/*`, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), status: 'RUNNING', progress: 0.5 } })
  })
  await page.reload()
  console_.expect(/409.*cancel/)
  await page.getByRole('button', { name: 'Cancel the replay' }).click()
  await page.getByText('The replay has ended').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

test('a snippet is written, edited by two people, and deleted', async () => {
  const list = async () => (await console_.api('GET /re/api/v1/snippets')).body.content
  await page.goto(console_.address('/rules?tab=snippets'))
  await settled(page)
  await page.getByRole('link', { name: 'New snippet' }).first().click()
  await page.getByRole('textbox', { name: /^Name/ }).fill(hostile)
  await typeInto(/^Text/, 'first line\nsecond line')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { level: 1, name: 'too hot <img' }).waitFor()
  const [snippet] = await list()
  assert.deepEqual([snippet.name, snippet.code], [hostile, 'first line\nsecond line'])
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: /^Description/ }).fill('mine')
  const theirs = { name: `${hostile} of theirs`, code: 'first line\nanother line' }
  assert.equal((await console_.api(`PUT /re/api/v1/snippets/${snippet.id}`, theirs)).status, 204)
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alertdialog').getByText('another line').waitFor()
  await page.getByRole('button', { name: 'Save mine' }).click()
  await page.getByText('Snippet saved').waitFor()
  const [kept] = await list()
  assert.deepEqual([kept.name, kept.code, kept.description], [theirs.name, theirs.code, 'mine'])
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  console_.expect(/404.*snippets/)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No snippets yet').waitFor()
  assert.deepEqual(await list(), [])
})

test('the value of a secret is sent and never shown', async () => {
  const value = 'hush-hush-7c1'
  const answers: string[] = []
  page.on('response', async (response) => {
    if (response.url().includes('/secrets') && response.request().method() === 'GET')
      answers.push(await response.text())
  })
  await page.goto(console_.address('/rules?tab=secrets'))
  await settled(page)
  await page.getByRole('button', { name: 'New secret' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('no spaces')
  await dialog.getByLabel(/^Value/).fill(value)
  console_.expect(/400.*secrets/)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog
    .getByText(/expected|pattern|letters/i)
    .last()
    .waitFor()
  assert.equal(await dialog.getByLabel(/^Value/).inputValue(), value)
  await dialog.getByRole('textbox', { name: /^Name/ }).fill('weather')
  await checkAccessibility(page, 'a secret')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Change secret weather' }).click()
  assert.equal(await dialog.getByLabel(/^Value/).inputValue(), '')
  await dialog.getByRole('textbox', { name: /^Description/ }).fill('of the forecast')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Secret saved').waitFor()
  const { content } = (await console_.api('GET /re/api/v1/secrets')).body
  assert.deepEqual([content[0].name, content[0].description], ['weather', 'of the forecast'])
  assert.ok(!(await page.content()).includes(value))
  assert.ok(answers.length > 0 && !answers.join().includes(value))
  await page.getByRole('button', { name: 'Delete secret weather' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No secrets yet').waitFor()
})

test('an alert setting opens an alert for a sample; the setting is disabled and deleted, and the alert stays', async () => {
  const settings = '/re/api/v1/alert-settings'
  const only = async () => (await console_.api(`GET ${settings}`)).body.content[0]
  await page.goto(console_.address('/alerts?tab=settings'))
  await settled(page)
  await page.keyboard.press('c')
  await page.getByRole('heading', { level: 1, name: 'New alert setting' }).waitFor()
  await page.getByRole('textbox', { name: /^Name/ }).fill(hostile)
  await page.getByRole('textbox', { name: /^Type/ }).fill('two words')
  await page.getByRole('button', { name: /Application appName/ }).click()
  await page.getByRole('option', { name: 'rooms' }).click()
  console_.expect(/400.*alert-settings/)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.field-error').first().waitFor()
  assert.equal(await only(), undefined)
  await page.getByRole('textbox', { name: /^Type/ }).fill('TOO_HOT')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { level: 1, name: 'too hot <img' }).waitFor()
  const { id, appName, alertType } = await only()
  assert.deepEqual([appName, alertType], ['rooms', 'TOO_HOT'])
  const send = () =>
    fetch(`${console_.platform.baseUrl}/kp1/rooms-v1/dcx/${token}/json`, {
      ...{ method: 'POST', body: '{"temperature": 45}', headers: { 'content-type': 'application/json' } },
    })
  const open = async () => (await console_.api('GET /re/api/v1/alerts?alertType=TOO_HOT')).body.totalElements
  assert.equal((await send()).status, 200)
  await eventually(async () => assert.equal(await open(), 1))
  await page.goto(console_.address('/alerts'))
  await page.getByRole('link', { name: 'TOO_HOT' }).click()
  await page.getByRole('row', { name: /Opened/ }).waitFor()
  // The history names the key that acknowledged the alert.
  const key = (await console_.api('POST /iam/api/v1/api-keys', { name: 'night shift' })).body.key
  const asKey = client(console_.platform.baseUrl, { 'x-identity-api-key': key })
  const [alert] = (await console_.api('GET /re/api/v1/alerts?alertType=TOO_HOT')).body.content
  const acknowledged = await asKey(`PUT /re/api/v1/alerts/${alert.id}/acknowledgement`, {
    acknowledgement: 'ACKNOWLEDGED',
  })
  assert.ok(acknowledged.status < 300, acknowledged.text)
  await page.reload()
  await page.getByRole('row', { name: /Acknowledged night shift/ }).waitFor()
  // The alert names its setting.
  await page
    .getByRole('definition')
    .getByRole('link', { name: /^too hot/ })
    .click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('switch', { name: /^Watching/ }).focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Alert setting saved').waitFor()
  assert.equal((await only()).state, 'DISABLED')
  await page.goto(console_.address('/rules?origin=setting'))
  await page.getByRole('row', { name: /too hot.*Activates and resolves the alert/ }).waitFor()
  await page.getByRole('link', { name: /^too hot/ }).click()
  await page.getByText('This rule belongs to an alert setting').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Edit' }).count(), 0, 'the platform would refuse the change')
  await page.getByRole('link', { name: 'Go to the alert setting' }).click()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('1 open alert of this type (it stays open)').waitFor()
  console_.expect(/404.*alert-settings/)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No alert settings yet').waitFor()
  assert.equal((await console_.api(`GET ${settings}/${id}`)).status, 404)
  assert.equal(await open(), 1)
})

test('a disabled rule is shown as disabled, a version shows its changes, and the deletion shows how many links are removed', async () => {
  const { id } = await onlyRule()
  await page.goto(console_.address(`/rules/${id}`))
  await settled(page)
  await page.getByRole('button', { name: 'Disable', exact: true }).click()
  await page.getByRole('button', { name: 'Enable', exact: true }).waitFor()
  assert.equal((await onlyRule()).state, 'DISABLED')
  await page.getByRole('link', { name: 'Versions' }).click()
  await page.getByText('Nothing differs.').waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByText('2 links to triggers and actions (triggers and actions stay)').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Rules' }).waitFor()
  assert.equal(await onlyRule(), undefined)
  assert.deepEqual(console_.problems, [])
})
