/** A user with the role endpoint-reader may read endpoints, and may not read applications. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { withVersions } from '../../console/src/api/application-versions.ts'
import { openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'

const password = 'a-Long-passw0rd-for-tests'
const scopes = ['application:endpoint:create', 'alert-setting:read', 'tenant:alert-setting:create']
let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', { endpointId: 'meter-1', appVersion: { name: 'meters-v1' } })
  const made = [
    await api('POST /iam/api/v1/roles', { name: 'installer', scopes }),
    await api('POST /iam/api/v1/users', { username: 'eve', password, roles: ['endpoint-reader', 'installer'] }),
  ]
  assert.deepEqual(
    made.map(({ status, text }) => (status === 201 ? 201 : text)),
    [201, 201],
  )
  page = await console_.browser.newPage()
  await page.goto(console_.address('/'))
  await signIn(page, 'eve', password)
})

test('the tab Software names the missing scope', async () => {
  await page.goto(console_.address('/endpoints/meter-1?tab=software'))
  await page.getByText('It needs the scope application:software:read').waitFor()
  assert.equal(await page.getByText('There is no application').count(), 0)
})

test('forms offer the applications and versions of the endpoints that the user may read', async () => {
  for (const [path, name] of [
    ['/connect', undefined],
    ['/endpoints/new', 'meters-v1'],
    ['/alerts/settings/new', 'meters'],
  ] as const) {
    await page.goto(console_.address(path))
    await settled(page)
    const found = page.getByRole('option', { name: name ?? 'meters-v1', exact: true, includeHidden: true })
    // If there is only one version, the page Connect does not ask for it.
    if (name === undefined) await page.getByLabel(/^Id of the device/).waitFor()
    else await found.first().waitFor({ state: 'attached' })
  }
  assert.deepEqual(console_.problems, [])
})

test('a version belongs to the application whose name is before its suffix', () => {
  const found = withVersions(['a', 'a-b'], ['a-b-1', 'a-v1'])
  assert.deepEqual(
    found.map(({ name, versions }) => [name, ...versions.map((version) => version.name)]),
    [
      ['a', 'a-v1'],
      ['a-b', 'a-b-1'],
    ],
  )
})
