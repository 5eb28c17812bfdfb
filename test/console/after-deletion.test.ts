/** Pages that stay open after a deletion show at once what is left. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, settled, type TestConsole } from '../harness/console.ts'

let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  page = await console_.open('/vpn')
})

/** Presses a button of the page, and then the button with the same name in the dialog that asks. */
async function confirm(name: string, press = () => page.getByRole('button', { name, exact: true }).click()) {
  await press()
  await page.getByRole('alertdialog').getByRole('button', { name, exact: true }).click()
}

async function fromMenu(name: string) {
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name, exact: true }).click()
}

test('the page of a VPN client shows that the client is revoked, so that nobody revokes it again and thereby deletes it', async () => {
  const { id } = (await console_.api('POST /vpms/api/v1/vpnclient', { name: 'pump', type: 'device' })).body.data
  await page.goto(console_.address(`/vpn/${id}`))
  await settled(page)
  await confirm('Revoke', () => fromMenu('Revoke'))
  await page.getByText('Revoked', { exact: true }).waitFor({ timeout: 15_000 })
  await confirm('Delete', () => fromMenu('Delete the record'))
  await page.getByRole('heading', { level: 1, name: 'VPN', exact: true }).waitFor()
  assert.equal((await console_.api(`GET /vpms/api/v1/vpnclient/${id}`)).status, 404)
  assert.deepEqual(console_.problems, [])
})

test('after documents are switched off, the page says that samples are not kept', async () => {
  await console_.api('POST /api/v1/applications', { name: 'ovens' })
  await console_.api('PUT /asf/api/v1/default-ovens/_template', { settings: { index: { retention_days: 7 } } })
  await page.goto(console_.address('/pipelines?tab=documents'))
  await settled(page)
  console_.expect(/404.*_template/)
  await confirm('Stop keeping')
  await page.getByRole('button', { name: 'Keep documents', exact: true }).waitFor({ timeout: 15_000 })
  assert.equal(await page.getByText('Every sample that arrives is kept').count(), 0)
})

test('after the second factors of a user are removed, the page lists none', async () => {
  const { id } = (await console_.api('POST /iam/api/v1/users', { username: 'ada' })).body
  const factor = { id: 'factor-1', kind: 'totp', name: 'Phone', createdAt: '2026-01-01T00:00:00Z' }
  let left = [factor]
  // Only a person with a device can add a second factor, so the test answers for the platform.
  await page.route(`**/iam/api/v1/users/${id}/second-factors*`, (route) => {
    const isDeletion = route.request().method() === 'DELETE'
    if (isDeletion) left = []
    return isDeletion ? route.fulfill({ status: 204 }) : route.fulfill({ json: { content: left, recoveryCodes: 0 } })
  })
  await page.goto(console_.address(`/users/${id}`))
  await settled(page)
  await confirm('Remove all')
  await page.getByText('Second factors removed').waitFor()
  await page.getByText('No second factor. The user adds').waitFor({ timeout: 15_000 })
})
