/** Long lists: the position after the back button, and the selection of all rows that match. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, settled, type TestConsole } from '../harness/console.ts'

const endpoints = 420
let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  for (let begin = 0; begin < endpoints; begin += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        api('POST /epr/api/v1/endpoints', {
          endpointId: `meter-${String(begin + at).padStart(3, '0')}`,
          appVersion: { name: 'meters-v1' },
        }),
      ),
    )
  page = await console_.open('/endpoints?sort=id')
  await settled(page)
})

const link = (id: string) => page.getByRole('link', { name: id, exact: true })

test('the back button shows a long list at the row at which the user left it; a new visit begins at the first row', async () => {
  await link('meter-000').waitFor()
  // Further rows are loaded when the last loaded rows are shown.
  for (let row = 4; row <= 354; row += 10) await link(`meter-${String(row).padStart(3, '0')}`).scrollIntoViewIfNeeded()
  await link('meter-354').click()
  await page.getByRole('heading', { name: 'meter-354', level: 1 }).waitFor()
  await page.goBack()
  await link('meter-354').waitFor()
  assert.equal(await link('meter-000').count(), 0)
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Endpoints', exact: true }).click()
  await page.locator('.table-row[data-index="0"]').waitFor()
  assert.equal(await page.locator('.table-row[data-index="350"]').count(), 0)
  assert.deepEqual(console_.problems, [])
})

test('if one of all selected rows is unchecked, the page says that rows which are not loaded are no longer selected', async () => {
  await page.goto(console_.address('/endpoints?sort=id'))
  await link('meter-000').waitFor()
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).click()
  await page.getByRole('button', { name: `Select all ${endpoints} that match` }).click()
  await page.getByText(`All ${endpoints} that match are selected`).waitFor()
  await page.getByRole('checkbox', { name: 'Select meter-002' }).click()
  await page.getByText('99 selected').waitFor()
  await page.getByText('The rows that are not loaded are no longer selected.').waitFor()
  await page.getByRole('button', { name: `Select all ${endpoints} that match` }).click()
  await page.getByText(`All ${endpoints} that match are selected`).waitFor()
  assert.equal(await page.getByText('no longer selected').count(), 0)
  assert.deepEqual(console_.problems, [])
})
