/**
 * An engineer writes and tries a pipeline, stores documents, and manages files of devices. A reader sees all of this and can change
 * nothing.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, checkNarrow, openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'

let console_: TestConsole
let page: Page
let token: string
const hostile = '<img src=x onerror=alert(1)> \u202emarked'
const pipelines = '/asf/api/v1/_ingest/pipeline'
const files = '/bcx/api/v1/applications/ovens'

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'ovens', displayName: 'Ovens' })
  await api('POST /api/v1/applications/ovens/app-versions', { nameSuffix: 'v1' })
  const oven = { endpointId: 'oven-1', appVersion: { name: 'ovens-v1' } }
  token = (await api('POST /epr/api/v1/endpoints', oven)).body.token
  page = await console_.open('/')
})

const button = (name: string | RegExp, exact = true) => page.getByRole('button', { name, exact })

/** Replaces the text of an editor by keyboard, because an editor is not a plain input element. */
async function typeInto(label: RegExp, text: string) {
  await page.getByRole('textbox', { name: label }).focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

const toFahrenheit = [
  { script: { source: 'ctx.dataSample.fahrenheit = ctx.dataSample.celsius * 1.8 + 32' } },
  { set: { if: 'ctx.dataSample.celsius > 90', field: 'hot', value: true } },
]

test('a pipeline is tried while it is typed, the result of each processor is shown, and a pipeline with a mistake is not saved', async () => {
  await page.goto(console_.address('/pipelines'))
  await settled(page)
  await page.keyboard.press('c')
  await page.getByRole('textbox', { name: /^Id/ }).fill('to-fahrenheit')
  await typeInto(/^Processors processors/, '[{"set": ')
  await button('Create').click()
  await page.getByRole('alert').first().waitFor()
  assert.equal((await console_.api(`GET ${pipelines}/to-fahrenheit`)).status, 404)

  await typeInto(/^Processors processors/, JSON.stringify(toFahrenheit))
  await typeInto(/^Document/, JSON.stringify({ dataSample: { celsius: 20, name: hostile } }))
  await button('Try').click()
  const steps = page.locator('.pipeline-steps > li')
  await steps.nth(0).getByText('Done').waitFor()
  assert.match(await steps.nth(0).innerText(), /added:\s+"fahrenheit": 68/)
  await steps.nth(1).getByText('Skipped').waitFor()
  await typeInto(/^Document/, '{"dataSample": {"celsius": "hot"}}')
  await button('Try').click()
  await steps.nth(0).getByText('Failed').waitFor()
  await checkAccessibility(page, 'a failed try')
  await checkNarrow(page, 'a failed try')

  await page.getByRole('textbox', { name: /^Description/ }).fill(hostile)
  await button('Create').click()
  await page.getByRole('heading', { level: 1, name: 'to-fahrenheit' }).waitFor()
  assert.deepEqual((await console_.api(`GET ${pipelines}/to-fahrenheit`)).body['default-to-fahrenheit'], {
    description: hostile,
    processors: toFahrenheit,
  })
})

test('two people edit one pipeline: the person who saves later sees the difference, and nothing is lost', async () => {
  const path = `${pipelines}/to-fahrenheit`
  await page.goto(console_.address('/pipelines/to-fahrenheit/edit'))
  await settled(page)
  const description = page.getByRole('textbox', { name: /^Description/ })
  await description.fill('mine')
  const theirs = { description: 'theirs', version: 7, processors: [{ set: { field: 'a', value: 1 } }] }
  assert.equal((await console_.api(`PUT ${path}`, theirs)).status, 200)
  console_.expect(/412/)
  await button('Save').click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('"field": "a"').waitFor()
  await checkAccessibility(page, 'a conflict')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await description.inputValue(), 'mine')
  await button('Save').click()
  await dialog.getByRole('button', { name: 'Discard mine' }).click()
  assert.equal(await description.inputValue(), 'theirs')
  await description.fill('both')
  await button('Save').click()
  await page.getByText('Pipeline saved').waitFor()
  const { body } = await console_.api(`GET ${path}`)
  assert.deepEqual(body['default-to-fahrenheit'].processors, theirs.processors)
  assert.deepEqual([body['default-to-fahrenheit'].description, body['default-to-fahrenheit'].version], ['both', 7])
})

test('large and hostile pipelines are shown as text, and 64-bit integers in a pipeline are not rounded', async () => {
  const { api } = console_
  const processors = [
    { set: { field: 'large', value: 'x'.repeat(880 * 1024) } },
    { set: { field: hostile, value: 9007199254740992 } },
  ]
  const large = { description: hostile + 'y'.repeat(100_000), processors }
  assert.equal((await api(`PUT ${pipelines}/large`, large)).status, 200)
  for (const path of ['/pipelines', '/pipelines/large', '/pipelines/large?tab=json']) {
    await page.goto(console_.address(path))
    await settled(page)
    await page.getByText('more characters').first().waitFor()
    await checkNarrow(page, path)
  }
  await page.goto(console_.address('/pipelines/large/edit'))
  await settled(page)
  await button('Save').click()
  await page.getByText('more digits than this page can keep').waitFor()
  assert.deepEqual((await api(`GET ${pipelines}/large`)).body['default-large'], large)
  assert.equal((await api(`DELETE ${pipelines}/large`)).status, 200)
})

test('an application stores documents through a pipeline, and the pipeline cannot be deleted while it is used', async () => {
  const { api, platform } = console_
  console_.expect(/404.*_template/)
  await page.goto(console_.address('/pipelines?tab=documents'))
  await settled(page)
  await button(/default_pipeline/, false).click()
  await page.getByRole('option', { name: 'to-fahrenheit' }).click()
  await button('Keep documents').click()
  await page.getByText('Every sample that arrives is kept').waitFor()
  const { body } = await api('GET /asf/api/v1/default-ovens/_template')
  assert.equal(body['default-ovens'].settings.index.default_pipeline, 'to-fahrenheit')
  const sent = await fetch(`${platform.baseUrl}/kp1/ovens-v1/dcx/${token}/json`, {
    ...{ method: 'POST', body: JSON.stringify({ celsius: 100, note: hostile }) },
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(sent.status, 200)
  await page.reload()
  await settled(page)
  await page.getByText('1 found').waitFor()
  await button('Show the document').click()
  await page.getByRole('dialog').getByText('"a": 1').waitFor()
  await checkAccessibility(page, 'a document')

  await page.goto(console_.address('/pipelines/to-fahrenheit'))
  await settled(page)
  await button('More actions').click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  console_.expect(/400.*pipeline/)
  const question = page.getByRole('alertdialog')
  await question.getByRole('button', { name: 'Delete' }).click()
  await question.getByText(/ovens/).waitFor()
  assert.equal((await api(`GET ${pipelines}/to-fahrenheit`)).status, 200)
  assert.equal((await api('DELETE /asf/api/v1/default-ovens/_template')).status, 200)
  // Before the page opens the list, it reads the deleted pipeline once more and gets a 404.
  console_.expect(/404.*pipeline/)
  await question.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Pipeline deleted').waitFor()
  assert.equal((await api(`GET ${pipelines}/to-fahrenheit`)).status, 404)
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function upload(name: string, content: Buffer) {
  await page
    .getByRole('dialog')
    .locator('input[type=file]')
    .setInputFiles({
      ...{ name, mimeType: 'application/octet-stream', buffer: content },
    })
}

test('files are uploaded on behalf of a device, shown, downloaded by a link, and deleted', async () => {
  const { api } = console_
  const text = Buffer.from(`<script>alert(1)</script> \u202e\u0007\n${'z'.repeat(100_000)}`)
  await page.goto(console_.address('/files'))
  await settled(page)
  await button('Upload').click()
  await upload('night.log', text)
  await page.getByText('Type the id of the endpoint first.').waitFor()
  await page.getByRole('textbox', { name: /^Endpoint/ }).fill('oven-x')
  console_.expect(/404.*upload-tokens/)
  await upload('night.log', text)
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await page.getByRole('textbox', { name: /^Endpoint/ }).fill('oven-1')
  await upload('night.log', text)
  await page.getByText('night.log is stored.').waitFor()
  await upload(`b <b>\u202ex.png`, png)
  await page.getByText('.png is stored.').waitFor()
  await checkAccessibility(page, 'an upload')
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click()
  const { content } = (await api(`GET ${files}/files`)).body
  assert.deepEqual(content.map(({ size }: { size: number }) => size).sort(), [png.length, text.length].sort())

  await button('Show night.log').click()
  await page.getByText('The first 65.5 KB of 100').waitFor()
  assert.match(await page.locator('pre').innerText(), /^<script>alert\(1\)<\/script> ⟨202e⟩⟨7⟩/)
  const downloading = page.waitForEvent('download')
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click()
  assert.deepEqual(readFileSync(await (await downloading).path()), text)
  await page.keyboard.press('Escape')
  await button(/^Show b/, false).click()
  const image = page.getByRole('img', { name: /^b <b>/ })
  await image.waitFor()
  const width = () => page.evaluate("document.querySelector('.file-image').naturalWidth")
  await eventually(async () => assert.equal(await width(), 1))
  await checkAccessibility(page, 'an image')
  await page.keyboard.press('Escape')

  await page.goto(console_.address('/files?q=night&endpoint=oven-1'))
  await settled(page)
  await button('Delete night.log').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Nothing matches').waitFor()
  assert.equal((await api(`GET ${files}/endpoints/oven-1/files/night.log`)).status, 404)
})

/** Scopes to read everything on these pages, and to change nothing. */
const readScopes = ['application:read', 'rule:read', 'snippet:read', 'secret:read', 'alert:read', 'alert-setting:read']

/** Creates one object of each kind. Returns the paths of their pages, each with a text that the page must show. */
async function objectsToRead(): Promise<[path: string, shown: string | RegExp][]> {
  const { api } = console_
  const idOf = ({ headers }: { headers: Headers }) => headers.get('location')!.split('/').at(-1)!
  await api(`PUT ${pipelines}/kept`, { processors: toFahrenheit })
  const snippet = idOf(await api('POST /re/api/v1/snippets', { name: 'Kept snippet', code: 'return 1' }))
  await api('POST /re/api/v1/secrets', { name: 'kept-secret', value: 'hush' })
  const condition = { appName: 'ovens', activationExpression: 'return false' }
  const fields = { name: 'Kept setting', alertType: 'KEPT', severityLevel: 'LOW', ...condition }
  const setting = idOf(await api('POST /re/api/v1/alert-settings', fields))
  const rule = idOf(await api('POST /re/api/v1/rules', { name: 'Kept rule', expression: 'return 1' }))
  return [
    ['/pipelines', 'kept'],
    ['/pipelines/kept', 'dataSample.fahrenheit'],
    ['/pipelines?tab=documents', 'not kept as documents'],
    ['/rules?tab=snippets', 'Kept snippet'],
    [`/rules/snippets/${snippet}`, 'return 1'],
    ['/rules?tab=secrets', 'kept-secret'],
    ['/alerts?tab=settings', 'Kept setting'],
    [`/alerts/settings/${setting}`, 'KEPT'],
    [`/rules/${rule}`, 'return 1'],
  ]
}

test('Explore says that it ignores a period in the address that is not two times, and does not show it as a period from the chart', async () => {
  await page.goto(console_.address('/explore?period=7d'))
  await page.getByText('The address has values that this page does not know: period=7d.').waitFor()
  await page.getByRole('button', { name: /Last day/ }).waitFor()
})

test('a user who may read endpoints and not applications chooses among the applications of these endpoints', async () => {
  const { api, browser, address } = console_
  const password = 'a-Long-passw0rd-for-tests'
  await api('POST /iam/api/v1/users', { username: 'eve', password, roles: ['endpoint-reader'] })
  await browser.clearCookies()
  await page.goto(address('/commands'))
  await page.getByLabel(/password/i).waitFor()
  await signIn(page, 'eve', password)
  await page.getByText('No commands in this application yet').waitFor()
  for (const path of ['/explore', '/filters', '/map', '/files']) {
    await page.goto(address(path))
    await settled(page)
    await page.getByRole('option', { name: 'ovens', includeHidden: true }).first().waitFor({ state: 'attached' })
  }
})

test('a reader sees all objects and no button whose request would be rejected', async () => {
  const { api, browser } = console_
  const objects = await objectsToRead()
  assert.equal((await api('POST /iam/api/v1/roles', { name: 'looker', scopes: readScopes })).status, 201)
  const password = 'a-Long-passw0rd-for-tests'
  const ada = { username: 'ada', password, roles: ['endpoint-reader', 'looker'] }
  assert.equal((await api('POST /iam/api/v1/users', ada)).status, 201)
  await browser.clearCookies()
  await page.goto(console_.address('/files?application=ovens'))
  await page.getByLabel(/password/i).waitFor()
  await signIn(page, 'ada', password)
  await settled(page)
  await button(/^Show b/, false).click()
  await page.getByRole('img', { name: /^b <b>/ }).waitFor()
  await page.keyboard.press('Escape')
  const changes =
    /^(New|Edit|Delete|Change|Upload|Create|Save|Keep|Stop|Start|Try|Replay|Disable|Link a|More actions)\b/
  for (const [path, shown] of [['/files?application=ovens', '.png'] as const, ...objects]) {
    await page.goto(console_.address(path))
    await page.getByText(shown).first().waitFor()
    await settled(page)
    for (const role of ['button', 'link'] as const)
      assert.deepEqual(await page.locator('main').getByRole(role, { name: changes }).allInnerTexts(), [], path)
  }
  for (const path of ['/rules/snippets/new', '/alerts/settings/new', '/pipelines/new']) {
    await page.goto(console_.address(path))
    await page.getByText('You may not see this').waitFor()
  }
  assert.deepEqual(console_.problems, [])
})

test('other pages show the application that the user chose last, until the conditions are reset', async () => {
  // Without a choice, pages show the first application.
  await console_.api('POST /api/v1/applications', { name: 'boilers', displayName: 'Boilers' })
  await page.goto(console_.address('/commands?application=ovens'))
  await page.getByRole('button', { name: /Ovens/ }).waitFor()
  await page.getByRole('link', { name: 'Files', exact: true }).click()
  await page.getByRole('button', { name: /Ovens/ }).waitFor()
  await page.waitForURL(/\/files\?application=ovens$/)
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByRole('button', { name: /Boilers/ }).waitFor()
  await page.getByRole('link', { name: 'Commands', exact: true }).click()
  await page.getByText('No commands in this application yet').waitFor()
  await page.getByRole('button', { name: /Boilers/ }).waitFor()
  assert.deepEqual(console_.problems, [])
})
