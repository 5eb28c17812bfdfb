/**
 * Tests of dashboards: built by mouse, changed by keyboard alone, updated live, edited by two people, and read by a user who may not edit
 * them.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../harness/browser.ts'
import { bearer, client, tokenOf } from '../harness/client.ts'
import { checkAccessibility, checkNarrow, openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'
import { everyWidget } from '../harness/dashboards.ts'
import { eventually } from '../harness/eventually.ts'

let console_: TestConsole
let page: Page
let token: string
const root = '/dashboards/api/v1/dashboards'
const sample = 'ctx.trigger.endpointDataSamplesReceived.dataSamples[0]'
const hostile = '<img src=x onerror=alert(1)> \u202emarked'

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'rooms', displayName: 'Rooms' })
  await api('POST /api/v1/applications/rooms/app-versions', { nameSuffix: 'v1' })
  const metadata = { name: 'Attic', latitude: 48.2, longitude: 16.4, note: 'x'.repeat(5_000) }
  const registered = await api('POST /epr/api/v1/endpoints', {
    ...{ endpointId: 'room-1', appVersion: { name: 'rooms-v1' }, metadata },
  })
  token = registered.body.token
  await api('POST /iam/api/v1/users', {
    username: 'rita',
    password: 'correct horse battery',
    roles: ['endpoint-reader'],
  })
  await api('POST /re/api/v1/alert-settings', {
    ...{ name: 'hot', alertType: 'TOO_HOT', severityLevel: 'HIGH', endpointIds: ['room-1'] },
    activationExpression: `return ${sample}.temperature > 30`,
    resolutionExpression: `return ${sample}.temperature < 25`,
  })
  await send({ temperature: 20 })
  page = await console_.open('/dashboards')
})

async function send(sample: object) {
  const sent = await fetch(`${console_.platform.baseUrl}/kp1/rooms-v1/dcx/${token}/json`, {
    ...{ method: 'POST', body: JSON.stringify(sample), headers: { 'content-type': 'application/json' } },
  })
  assert.equal(sent.status, 200)
}

/** Returns the newest dashboard with this name. */
async function stored(name: string) {
  const { body } = await console_.api(`GET ${root}?search=${encodeURIComponent(name)}`)
  return (await console_.api(`GET ${root}/${body.content[0].dashboardId}`)).body
}

async function choose(label: string, search: string, option: string) {
  await page.getByRole('button', { name: new RegExp(`^${label}:`) }).click()
  await page.getByRole('dialog', { name: label }).getByRole('searchbox').fill(search)
  await page.getByRole('option', { name: option }).first().click()
}

async function drag(selector: string, right: number, down: number) {
  const handle = page.locator(selector)
  await handle.hover()
  const { x, y, width, height } = (await handle.boundingBox())!
  const [fromX, fromY] = [x + width / 2, y + height / 2]
  await page.mouse.down()
  await page.mouse.move(fromX + right / 2, fromY + down / 2)
  await page.mouse.move(fromX + right, fromY + down)
  await page.mouse.up()
}

test('by mouse, a dashboard is built from nothing: widgets are added, moved and resized', async () => {
  await settled(page)
  await page.getByText('No dashboards yet').waitFor()
  await page.getByRole('link', { name: 'New dashboard' }).first().click()
  await page.getByRole('heading', { level: 1, name: 'New dashboard' }).waitFor()
  await page.getByRole('textbox', { name: /^Name/ }).fill('Climate')
  await page.getByRole('button', { name: /^Chart/ }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('These widgets are not finished:').waitFor()
  assert.equal((await console_.api(`GET ${root}`)).body.totalElements, 0)

  await choose('Endpoint of the new series', 'room', 'room-1')
  await choose('Series to add', 'temp', 'temperature')
  await page.getByRole('textbox', { name: /^Unit/ }).fill('°C')
  await page.getByRole('button', { name: 'Add a widget' }).click()
  await page.getByRole('menuitem', { name: 'Text' }).click()
  await page.getByRole('textbox', { name: /^Text/ }).fill(`# Notes\n\n${hostile} and [a link](javascript:alert(1))`)
  await page.getByRole('slider', { name: /^temperature/ }).waitFor({ state: 'attached' })
  await checkAccessibility(page, 'editor')

  await drag('[data-widget=text-1] .widget-head h2', 0, 200)
  await eventually(async () =>
    assert.match((await page.locator('[data-widget=text-1]').getAttribute('style'))!, /--y: 6;/, 'five rows down'),
  )
  await drag('[data-widget=chart-1] [data-resize]', 200, 80)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { level: 1, name: 'Climate' }).waitFor()
  const { definition } = await stored('Climate')
  const [chart, text] = definition.widgets
  assert.deepEqual(chart.series, [{ endpoint: 'room-1', timeSeries: 'auto~temperature' }])
  assert.ok(chart.width > 12 && chart.height === 10, JSON.stringify(chart))
  assert.ok(text.y >= 5, JSON.stringify(text))
})

test('a point that a device sends appears by itself, over one stream for all widgets', async () => {
  const place = (x: number) => ({ x, y: 0, width: 6, height: 4 })
  const value = { series: { endpoint: '$device', timeSeries: 'auto~temperature' }, unit: '°C' }
  const created = await console_.api(`POST ${root}`, {
    name: 'Live',
    definition: {
      variables: [{ name: 'device', kind: 'endpoint', label: 'Room' }],
      widgets: [
        { kind: 'value', id: 'one', title: 'Now', ...place(0), ...value },
        { kind: 'value', id: 'two', title: 'Highest', aggregate: 'max', ...place(6), ...value },
        { kind: 'alerts', id: 'alerts', x: 0, y: 4, width: 12, height: 6 },
        { kind: 'chart', id: 'chart', title: 'History', x: 12, y: 0, width: 12, height: 8, series: [value.series] },
      ],
    },
  })
  await page.goto(console_.address(`/dashboards/${created.body.dashboardId}`))
  await settled(page)
  await page.getByText('Choose an endpoint above.').first().waitFor()
  await choose('Room', 'room', 'room-1')
  await page.waitForURL(/var-device=room-1/)
  const now = page.getByRole('region', { name: 'Now' })
  await now.getByText('20', { exact: true }).waitFor()
  await page.getByText('Live', { exact: true }).first().waitFor()
  await page.getByText(/No alert (of .* )?is open/).waitFor()
  await send({ temperature: 34.5 })
  await now.getByText('34.5', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'TOO_HOT' }).waitFor()
  const slider = page.getByRole('slider', { name: /^History/ })
  await eventually(async () => assert.match((await slider.getAttribute('aria-valuetext'))!, /34\.5/))
  const metrics = await (await fetch(`${console_.platform.managementUrl}/metrics`)).text()
  assert.match(metrics, /^waypost_live_streams 1$/m)

  await page.getByRole('button', { name: 'Actions of History' }).click()
  await page.getByRole('menuitem', { name: 'Show as a table' }).click()
  await page.getByRole('cell', { name: '34.5' }).waitFor()
})

test('a list of the alerts of an application asks the platform only for alerts of its endpoints', async () => {
  const area = { x: 0, y: 0, width: 12, height: 6 }
  const created = await console_.api(`POST ${root}`, {
    ...{ name: 'Alerts of rooms' },
    definition: { widgets: [{ kind: 'alerts', id: 'alerts', ...area, application: 'rooms', limit: 5 }] },
  })
  const requested = page.waitForRequest((request) => request.url().includes('/re/api/v1/alerts'))
  await page.goto(console_.address(`/dashboards/${created.body.dashboardId}`))
  const criteria = { state: ['OPEN'], entityType: 'ENDPOINT', entityIds: ['room-1'], size: 5 }
  assert.deepEqual((await requested).postDataJSON(), criteria)
  await page.getByRole('link', { name: 'TOO_HOT' }).waitFor()
})

test('by keyboard alone, a dashboard is changed: moved, resized, removed and undone', async () => {
  const { dashboardId } = await stored('Live')
  await page.goto(console_.address(`/dashboards/${dashboardId}`))
  await settled(page)
  await page.getByRole('link', { name: 'Edit' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Edit Live' }).waitFor()
  await page.getByRole('button', { name: 'Move History', exact: true }).focus()
  for (const key of ['ArrowDown', 'ArrowLeft', 'Shift+ArrowRight', 'Shift+ArrowDown']) await page.keyboard.press(key)
  await page.getByText('History: column 12, row 2, 13 columns wide, 9 rows high').waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Move Alerts', exact: true }).focus()
  await page.keyboard.press('Delete')
  await page.getByRole('button', { name: 'Move Alerts', exact: true }).waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Move History')
  await page.keyboard.press('Control+z')
  await page.getByRole('button', { name: 'Move Alerts', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Move Now', exact: true }).focus()
  await page.keyboard.press('Delete')
  await page.getByRole('button', { name: 'Save' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Live', exact: true }).waitFor()
  const { definition } = await stored('Live')
  const places = definition.widgets.map(({ id, x, y, width, height }: Record<string, unknown>) => [
    id,
    x,
    y,
    width,
    height,
  ])
  assert.deepEqual(places, [
    ['two', 6, 10, 6, 4],
    ['alerts', 0, 14, 12, 6],
    ['chart', 11, 1, 13, 9],
  ])
})

test('an old version is compared and restored', async () => {
  const { dashboardId } = await stored('Live')
  await page.goto(console_.address(`/dashboards/${dashboardId}?tab=versions`))
  await settled(page)
  await page.getByRole('figure', { name: 'Changes of version 2' }).getByText('"id": "one"').waitFor()
  await checkAccessibility(page, 'versions')
  await page.getByRole('button', { name: 'Restore version 1' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByText('The version is restored.').waitFor()
  const restored = await stored('Live')
  assert.equal(restored.version, 3)
  assert.equal(restored.definition.widgets.length, 4)
})

test('two people edit one dashboard: the person who saves later sees the difference and loses nothing', async () => {
  const { dashboardId, name, definition } = await stored('Climate')
  await page.goto(console_.address(`/dashboards/${dashboardId}/edit`))
  await settled(page)
  await page.getByRole('textbox', { name: /^Name/ }).fill('Climate of mine')
  const widgets = definition.widgets.map((widget: { kind: string }) =>
    widget.kind === 'text' ? { ...widget, text: 'theirs' } : widget,
  )
  await console_.api(`PUT ${root}/${dashboardId}`, { name, definition: { ...definition, widgets } })
  console_.expect(/412/)
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Somebody else has changed this' })
  await dialog.getByRole('row', { name: /^name/ }).getByText('Climate of mine').waitFor()
  await dialog
    .getByRole('row', { name: /^widget text-1/ })
    .getByText(/"theirs"/)
    .waitFor()
  assert.equal((await stored('Climate')).name, 'Climate')
  await dialog.getByRole('button', { name: 'Discard mine' }).click()
  await page.getByRole('button', { name: 'Undo' }).click()
  assert.equal(await page.getByRole('textbox', { name: /^Name/ }).inputValue(), 'Climate of mine')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { level: 1, name: 'Climate of mine' }).waitFor()
  const saved = await stored('Climate')
  assert.match(saved.definition.widgets[1].text, /marked/)

  await page.goto(console_.address(`/dashboards/${dashboardId}/edit`))
  await settled(page)
  await page.getByRole('textbox', { name: /^Description/ }).fill('mine')
  await console_.api(`PUT ${root}/${dashboardId}`, { name, definition: { ...definition, widgets } })
  await page.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('row', { name: /^widget text-1 .*Not changed by you/ }).waitFor()
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await page.getByRole('heading', { level: 1, name: 'Climate', exact: true }).waitFor()
  const both = await stored('Climate')
  assert.deepEqual([both.description, both.definition.widgets], ['mine', widgets])
})

test('every kind of widget works and can be shown as text, and a widget that fails does not affect the others', async () => {
  const long = 'y'.repeat(19_000)
  const widgets = [
    ...everyWidget.map((widget, at) => ({ ...widget, y: at * 8 })),
    { kind: 'text', id: 'hostile', title: hostile, x: 12, y: 0, width: 12, height: 4, text: `${hostile}\n\n${long}` },
    { kind: 'value', id: 'gone', x: 12, y: 4, width: 12, height: 4, series: { endpoint: 'gone-1', timeSeries: 'x' } },
  ]
  const variables = [
    { name: 'app', kind: 'application', value: 'rooms' },
    { name: 'which', kind: 'filter' },
    { name: 'device', kind: 'endpoint', value: 'room-1' },
    { name: 'when', kind: 'time', value: 'PT1H' },
  ]
  const created = await console_.api(`POST ${root}`, { name: hostile, definition: { variables, widgets } })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  await page.setViewportSize({ width: 1280, height: 3000 })
  await page.goto(console_.address(`/dashboards/${created.body.dashboardId}?var-device=room-1`))
  await settled(page)
  await page.getByText('There is no endpoint gone-1, or you may not read it.').waitFor()
  await page.getByRole('region', { name: 'Temperature' }).getByRole('slider').waitFor()
  await page.getByRole('region', { name: 'Table of endpoints' }).getByRole('link', { name: 'room-1' }).first().waitFor()
  await page
    .getByRole('region', { name: 'hostile' })
    .or(page.getByText(/onerror=alert\(1\)/).first())
    .first()
    .waitFor()
  await checkAccessibility(page, 'every widget')
  await checkNarrow(page, 'every widget')
  await page.getByRole('button', { name: 'reboot', exact: true }).click()
  await page.getByText('The command reboot is sent.').waitFor()
  const { body } = await console_.api('GET /cex/api/v1/endpoints/commands/rooms')
  assert.deepEqual(body.content[0].requestPayload, { __proto__x: [1, null] }, JSON.stringify(body))
  await page.setViewportSize({ width: 1280, height: 800 })
})

test('a widget that is too low for its contents shows the top of its command button', async () => {
  const place = { kind: 'command', id: 'water', x: 0, y: 0, width: 8, height: 2 }
  const widgets = [{ ...place, endpoint: 'room-1', commandType: 'water' }]
  const { body } = await console_.api(`POST ${root}`, { name: 'Low', definition: { widgets } })
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(console_.address(`/dashboards/${body.dashboardId}`))
  await settled(page)
  const button = page.getByRole('button', { name: 'water', exact: true })
  await button.waitFor()
  const contents = page.locator('.widget-body', { has: button })
  const [top, contentsTop] = [(await button.boundingBox())!.y, (await contents.boundingBox())!.y]
  assert.ok(top >= contentsTop, `the button begins at ${top}, and the widget at ${contentsTop}`)
})

test('a dashboard is exported, imported and duplicated; a file that is not a dashboard is rejected with the reason', async () => {
  const { dashboardId } = await stored('Live')
  await page.goto(console_.address('/dashboards?q=Live'))
  await settled(page)
  await page.getByRole('button', { name: 'Actions: Live' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Export as JSON' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'Live.json')
  const parts: Buffer[] = []
  for await (const part of await download.createReadStream()) parts.push(part as Buffer)
  const file = JSON.parse(Buffer.concat(parts).toString())
  assert.deepEqual([file.kind, file.name, file.definition.widgets.length], ['dashboard', 'Live', 4])

  const upload = async (name: string, text: string) => {
    await page.getByLabel('File').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) })
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click()
  }
  await page.getByRole('button', { name: 'Import' }).click()
  await upload('broken.json', '{"name": 1}')
  await page.getByText(/The file is no dashboard/).waitFor()
  console_.expect(/400/)
  await upload('wrong.json', JSON.stringify({ name: 'x', definition: { widgets: [{ kind: 'clock' }] } }))
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await upload('good.json', JSON.stringify({ ...file, name: 'Imported' }))
  await page.getByRole('heading', { level: 1, name: 'Imported' }).waitFor()
  assert.deepEqual((await stored('Imported')).definition, (await stored('Live')).definition)

  await page.goto(console_.address(`/dashboards/${dashboardId}`))
  await settled(page)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Duplicate' }).click()
  await page.getByRole('heading', { level: 1, name: 'Copy of Live' }).waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  console_.expect(/404.*dashboards/)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Dashboards' }).waitFor()
  assert.equal((await console_.api(`GET ${root}?search=Copy`)).body.totalElements, 0)
})

test('a widget whose endpoint is deleted or whose series has no points says so, and the others still work', async () => {
  const { api } = console_
  await api('POST /epr/api/v1/endpoints', { endpointId: 'room-2', appVersion: { name: 'rooms-v1' } })
  const values = [
    ['room-2', 'auto~temperature'],
    ['room-1', 'auto~humidity'],
    ['room-1', 'auto~temperature'],
  ].map(([endpoint, timeSeries], at) => ({
    ...{ kind: 'value', id: `v${at}`, title: `Value ${at}`, x: at * 8, y: 0, width: 8, height: 4 },
    series: { endpoint, timeSeries },
  }))
  const { dashboardId } = (await api(`POST ${root}`, { name: 'Partly gone', definition: { widgets: values } })).body
  await page.goto(console_.address(`/dashboards/${dashboardId}`))
  const value = (at: number) => page.getByRole('region', { name: `Value ${at}` })
  for (const at of [0, 1]) await value(at).getByText('No value yet.').waitFor()
  await value(2).locator('.big-value-number').waitFor()
  assert.equal((await api('DELETE /epr/api/v1/endpoints/room-2')).status, 204)
  await page.reload()
  await value(0).getByText('There is no endpoint room-2, or you may not read it.').waitFor()
  await value(1).getByText('No value yet.').waitFor()
  await value(2).locator('.big-value-number').waitFor()
})

test('a dashboard without a name, or a dashboard that was deleted meanwhile, is not saved: the page shows the reason and keeps the input', async () => {
  const { dashboardId } = await stored('Partly gone')
  await page.goto(console_.address(`/dashboards/${dashboardId}/edit`))
  await settled(page)
  const name = page.getByRole('textbox', { name: /^Name/ })
  await name.fill('  ')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('A dashboard needs a name.').waitFor()
  assert.equal((await stored('Partly gone')).version, 1)
  const description = page.getByRole('textbox', { name: /^Description/ })
  await name.fill('n'.repeat(210))
  await description.fill('d'.repeat(2_001))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('210 characters are too many: at most 200 are possible.').waitFor()
  await page.getByText('2,001 characters are too many: at most 2,000 are possible.').waitFor()
  assert.equal((await name.inputValue()).length, 210, 'what was pasted is not cut')
  assert.equal((await description.inputValue()).length, 2_001)
  assert.equal((await stored('Partly gone')).version, 1)
  await description.fill('d'.repeat(2_000))
  // The API counts characters. Each of these characters consists of two UTF-16 units, which must not be counted separately.
  await name.fill('🌡'.repeat(200))
  await page.getByText('characters are too many').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Add a widget' }).click()
  await page.getByRole('menuitem', { name: 'Text' }).click()
  await page.getByRole('textbox', { name: /^Title/ }).fill('t'.repeat(201))
  await page.getByText('201 characters are too many').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('These widgets are not finished:').waitFor()
  assert.equal((await stored('Partly gone')).version, 1)
  await page.getByRole('textbox', { name: /^Title/ }).fill('t'.repeat(200))
  await page.getByRole('button', { name: 'Settings of the dashboard' }).click()
  await name.fill('Typed for nothing')
  console_.expect(/404/)
  assert.equal((await console_.api(`DELETE ${root}/${dashboardId}`)).status, 204)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').filter({ hasText: 'There is no dashboard' }).waitFor()
  assert.equal(await name.inputValue(), 'Typed for nothing')
  assert.equal((await console_.api(`GET ${root}?search=Typed`)).body.totalElements, 0)
})

test('Explore adds its chart to a dashboard', async () => {
  await page.goto(console_.address('/explore?application=rooms&endpoints=room-1&series=auto~temperature&aggregate=max'))
  await settled(page)
  await page.getByRole('button', { name: 'Add to dashboard' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add to dashboard' })
  await dialog.getByRole('textbox', { name: /^Title/ }).fill('From Explore')
  await choose('Dashboard', 'Imported', 'Imported')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('link', { name: 'Open the dashboard' }).click()
  await page.getByRole('region', { name: 'From Explore' }).waitFor()
  const added = (await stored('Imported')).definition.widgets.at(-1)
  assert.deepEqual(added.series, [{ endpoint: 'room-1', timeSeries: 'auto~temperature' }])
  assert.equal(added.aggregate, 'max')
})

test('a reader sees a dashboard and cannot edit it: the page has no button, and the API rejects a change', async () => {
  const { dashboardId } = await stored('Live')
  const readers = await openBrowser()
  const reader = await readers.newPage()
  await reader.goto(console_.address(`/dashboards/${dashboardId}?var-device=room-1`))
  await reader.getByLabel(/user/i).waitFor()
  await signIn(reader, 'rita', 'correct horse battery')
  await settled(reader)
  await reader.getByRole('region', { name: 'Now' }).getByText('34.5', { exact: true }).waitFor()
  const edit = reader.getByRole('link', { name: 'Edit' })
  assert.equal(await edit.count(), 0)
  const rita = (await console_.api('GET /iam/api/v1/users?search=rita')).body.content[0]
  const grant = { subject: { type: 'user', id: rita.id }, resource: `dashboard-${dashboardId}` }
  const granted = await console_.api('POST /iam/api/v1/grants', { ...grant, scopes: ['dashboard:update'] })
  await edit.waitFor()
  assert.equal((await console_.api(`DELETE /iam/api/v1/grants/${granted.body.id}`)).status, 204)
  await edit.waitFor({ state: 'detached' })
  await reader.getByRole('button', { name: 'More actions' }).click()
  await reader.getByRole('menuitem', { name: 'Export as JSON' }).waitFor()
  assert.deepEqual(await reader.getByRole('menuitem').allInnerTexts(), ['Versions', 'Export as JSON'])
  await reader.goto(console_.address(`/dashboards/${dashboardId}/edit`))
  await reader.getByText(/dashboard:update/).waitFor()
  assert.equal(await reader.getByRole('button', { name: 'Save' }).count(), 0)
  const { baseUrl, bootstrap } = console_.platform
  const { tenantId, frontendClient } = bootstrap.default
  const login = {
    grant_type: 'password',
    client_id: frontendClient.id,
    username: 'rita',
    password: 'correct horse battery',
  }
  const asReader = client(baseUrl, bearer(await tokenOf(baseUrl, tenantId, login)))
  const refused = await asReader(`PUT ${root}/${dashboardId}`, { name: 'Taken over', definition: { widgets: [] } })
  assert.equal(refused.status, 403, refused.text)
  assert.deepEqual(console_.problems, [])
})
