/** Tests of applications and endpoints in the console: they are created, edited, searched and deleted, by mouse and by keyboard. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, settled, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'

let opened: TestConsole
let page: Page

before(async () => {
  opened = await openConsole()
  // The browser logs every request that is rejected.
  opened.expect(/status of (?:400|412)/)
  page = await opened.open('/')
})

test('a new user creates an application, a version and an endpoint, and the token of the endpoint is shown once', async () => {
  await page.getByRole('link', { name: 'Create an application' }).click()
  await page.getByLabel(/^Name/).fill('Not Valid')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.field-error').filter({ hasText: /name/ }).first().waitFor()
  assert.equal(await page.getByLabel(/^Name/).inputValue(), 'Not Valid', 'what was typed stays')
  await page.getByLabel(/^Name/).fill('meters')
  await page.getByLabel(/^Display name/).fill('Meters <b>bold</b>')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Meters <b>bold</b>', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'New version' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('rowheader', { name: 'meters-v1' }).waitFor()

  await page.goto(opened.address('/endpoints/new'))
  await page.getByLabel(/^Id/).fill('meter-1')
  await page.getByRole('button', { name: 'Register' }).click()
  const token = await page.locator('.secret-value').innerText()
  const { status } = await opened.api('POST /kp1/meters-v1/dcx/' + token + '/json', [{ temperature: 21 }])
  assert.equal(status, 200, 'the device can use the token')
  assert.deepEqual(opened.problems, [])
})

test('two people edit an application: the person who saves later sees both versions and loses nothing', async () => {
  await page.goto(opened.address('/applications/meters/edit'))
  await page.getByLabel(/^Description/).fill('mine')
  await opened.api('PATCH /api/v1/applications/meters', { description: 'theirs' })
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Somebody else has changed this' })
  await dialog.getByText('theirs').waitFor()
  await dialog.getByText('mine', { exact: true }).waitFor()
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await page.getByText('Application saved').waitFor()
  assert.equal((await opened.api('GET /api/v1/applications/meters')).body.description, 'mine')
})

test('the list of endpoints is searched, sorted and selected by keyboard', async () => {
  for (let index = 0; index < 130; index++)
    await opened.api('POST /epr/api/v1/endpoints', {
      endpointId: `node-${String(index).padStart(3, '0')}`,
      appVersion: { name: 'meters-v1' },
    })
  await page.goto(opened.address('/endpoints?sort=id'))
  await settled(page)
  const grid = page.getByRole('grid', { name: 'Endpoints' })
  await grid.getByRole('link', { name: 'meter-1' }).waitFor()
  assert.ok((await grid.getByRole('row').count()) <= 60, 'at most 60 rows are in the page')
  await grid.getByRole('button', { name: 'Id' }).click()
  await page.waitForURL(/sort=-id/)
  await grid.getByRole('link', { name: 'node-129' }).waitFor()

  await page.keyboard.press('/')
  await page.keyboard.type('node-00')
  await page.waitForURL(/q=node-00/)
  await eventually(async () => assert.equal(await grid.getByRole('link').count(), 10))
  await grid.getByRole('gridcell').nth(1).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Space')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Space')
  await page.getByText('2 selected').waitFor()
  assert.deepEqual(opened.problems, [])
})

test('the palette finds pages, actions and endpoints, and the shortcuts are listed', async () => {
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Find pages, endpoints and actions' }).waitFor()
  await page.keyboard.type('node-12')
  await page.getByRole('menuitem', { name: 'node-120' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/endpoints\/node-12/)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.waitForURL(/\/applications$/)
  assert.deepEqual(opened.problems, [])
})

test('the palette finds an endpoint by its exact id first, in upper and lower case, among many ids that contain it', async () => {
  const register = (endpointId: string) =>
    opened.api('POST /epr/api/v1/endpoints', { endpointId, appVersion: { name: 'meters-v1' } })
  for (let at = 0; at < 10; at++) await register(`Valve-1${at}`)
  assert.equal((await register('Valve-1')).status, 201)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Find pages, endpoints and actions' }).waitFor()
  await page.keyboard.type('Valve-1')
  await page.getByRole('menuitem', { name: 'Valve-1', exact: true }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/endpoints\/Valve-1$/)
})

test('the button "As a command" shows curl, the command line and the SDK', async () => {
  await page.goto(opened.address('/applications'))
  await page.getByRole('button', { name: 'As a command' }).click()
  const dialog = page.getByRole('dialog', { name: 'The same as a command' })
  await dialog.getByText('waypost applications list').waitFor()
  await dialog.getByText(/curl .*\/api\/v1\/applications/).waitFor()
  assert.deepEqual(opened.problems, [])
})

test('a deleted application is not read again', async () => {
  await opened.api('POST /api/v1/applications', { name: 'gone-soon' })
  await page.goto(opened.address('/applications/gone-soon'))
  await page.getByRole('button', { name: 'More actions' }).first().click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('textbox').fill('gone-soon')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(/\/applications$/)
  await settled(page)
  // If the page had read the deleted application, the browser would have logged a 404.
  assert.deepEqual(opened.problems, [])
})

test('a new tab prepares its navigation during the sign-in, and hides it until the permissions of the user are known', async () => {
  const tab = await opened.browser.newPage()
  const [token, me] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  for (const [pattern, { promise }] of [
    ['**/protocol/openid-connect/token', token],
    ['**/iam/api/v1/me', me],
  ] as const)
    await tab.route(pattern, async (route) => {
      await promise
      await route.continue()
    })
  const frame = tab.locator('.frame')
  await tab.goto(opened.address('/applications'))
  await frame.locator('.nav-link').first().waitFor({ state: 'attached' })
  assert.equal(await frame.isVisible(), false)
  const asks = tab.waitForRequest('**/iam/api/v1/me')
  token.resolve()
  await asks
  assert.equal(await frame.isVisible(), false)
  me.resolve()
  await tab.getByRole('heading', { level: 1, name: 'Applications' }).waitFor()
  await tab.getByRole('navigation').getByRole('link', { name: 'Endpoints' }).waitFor()
  await tab.close()
})
