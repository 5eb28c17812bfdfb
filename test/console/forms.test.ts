/** Forms: a value that is refused is explained at its field, in words that a user understands. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, settled, type TestConsole } from '../harness/console.ts'

let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'pumps' })
  const name = 'longnameofaversion'.repeat(3)
  await api('POST /api/v1/applications/pumps/app-versions', { nameSuffix: name })
  const { status } = await api('POST /epr/api/v1/endpoints', {
    endpointId: 'pump-1',
    appVersion: { name: `pumps-${name}` },
  })
  assert.equal(status, 201)
  // The browser logs every request that is rejected.
  console_.expect(/status of 400/)
  page = await console_.open('/')
})

const error = () => page.locator('.field-error').first().innerText()

test('the type of a command that the platform refuses is explained at its field', async () => {
  await page.goto(console_.address('/endpoints/pump-1?tab=commands'))
  await page.getByRole('textbox', { name: /^Type/ }).fill('two words')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  assert.match(await error(), /^This value is not possible. Type of the command: 1 to 255 letters, digits, _ and -/)
  await page.getByText('No commands yet').waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
})

test('the tab Commands shows commands of new types by itself', async () => {
  await page.goto(console_.address('/endpoints/pump-1?tab=commands'))
  await page.getByText('No commands yet').waitFor()
  await console_.api('POST /cex/api/v1/endpoints/pump-1/commands/blink')
  await page.getByText('blink 1').waitFor()
})

test('the refusal of the name of an application says in words which names are possible', async () => {
  await page.goto(console_.address('/applications/new'))
  await page.getByLabel(/^Name/).fill('Not Valid')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.field-error').first().waitFor()
  const text = await error()
  assert.match(text, /1 to 128 lower-case letters, digits, _ and -/)
  assert.doesNotMatch(text, /\^|\[|\$|WAYPOST/)
})

test('a name that is missing is explained without the name of an operation', async () => {
  for (const path of ['/software/pumps/new', '/pipelines/new']) {
    await page.goto(console_.address(path))
    await page.getByRole('button', { name: 'Create' }).click()
    await page.locator('.field-error').first().waitFor()
    assert.equal(await error(), 'The value must not be empty.')
    assert.equal(await page.getByText(/software\.create|pipelines\.update/).count(), 0)
  }
})

test('the newest endpoints fit into their card, although the name of a version is long', async () => {
  await page.goto(console_.address('/'))
  await page.getByRole('rowheader', { name: 'pump-1' }).waitFor()
  await settled(page)
  for (const width of [1280, 900, 1000]) {
    await page.setViewportSize({ width, height: 800 })
    const wide = await page.evaluate(
      `[...document.querySelectorAll('.scroll-x')].filter((frame) => frame.scrollWidth > frame.clientWidth).length`,
    )
    assert.equal(wide, 0, `${width} pixels`)
  }
  assert.deepEqual(console_.problems, [])
})
