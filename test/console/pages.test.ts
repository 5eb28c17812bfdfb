/** Every page of the console: its heading, accessibility in light and dark, 320 pixels, and no error or foreign request. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccessibility, checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'

let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters', displayName: 'Meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', {
    endpointId: 'meter-1',
    appVersion: { name: 'meters-v1' },
    metadata: { name: 'North gate', place: { lat: 48.2, lon: 16.4 } },
  })
  const ada = { username: 'ada', firstName: 'Ada', lastName: 'Lovelace', roles: ['endpoint-reader'] }
  ids.ada = (await api('POST /iam/api/v1/users', ada)).body.id
  page = await console_.open('/')
})

/** Ids that the platform made: `{ada}` in a path. */
const ids: Record<string, string> = {}

/** Path and heading of each page. Add a line for each page of the registry. */
const pages: [path: string, heading: string | RegExp][] = [
  ['/', 'Overview'],
  ['/endpoints', 'Endpoints'],
  ['/endpoints?q=nothing-like-this', 'Endpoints'],
  ['/endpoints?sort=colour&page=x', 'Endpoints'],
  ['/endpoints?connection=never&activity=silent-1d&application=meters', 'Endpoints'],
  ['/endpoints/meter-1', 'North gate'],
  ['/endpoints/meter-1?tab=timeline', 'North gate'],
  ['/endpoints/meter-1?tab=metadata', 'North gate'],
  ['/endpoints/meter-1?tab=commands', 'North gate'],
  ['/endpoints/meter-1?tab=history', 'North gate'],
  ['/endpoints/meter-1?tab=configuration', 'North gate'],
  ['/endpoints/meter-1?tab=software', 'North gate'],
  ['/endpoints/meter-1?tab=files', 'North gate'],
  ['/endpoints/meter-1?tab=relations', 'North gate'],
  ['/endpoints/meter-1?tab=access', 'North gate'],
  ['/endpoints/meter-1?tab=nothing', 'North gate'],
  ['/filters', 'Filters'],
  ['/filters/meters/new', 'New filter'],
  ['/map', 'Map'],
  ['/map?view=table', 'Map'],
  ['/jobs', 'Jobs'],
  ['/endpoints/new', 'New endpoint'],
  ['/explore', 'Explore'],
  ['/explore?application=meters&endpoints=meter-1&series=auto~power&compare=day', 'Explore'],
  ['/explore?aggregate=none-such&period=x', 'Explore'],
  ['/alerts', 'Alerts'],
  ['/alerts?state=OPEN&severity=HIGH', 'Alerts'],
  ['/applications', 'Applications'],
  ['/applications/meters', 'Meters'],
  ['/applications/meters/edit', /Edit/],
  ['/applications/new', 'New application'],
  ['/users', 'Users'],
  ['/users/new', 'New user'],
  ['/users/{ada}', 'Ada Lovelace'],
  ['/users/{ada}?tab=access', 'Ada Lovelace'],
  ['/users/{ada}?tab=activity', 'Ada Lovelace'],
  ['/roles', 'Roles and grants'],
  ['/roles?tab=grants', 'Roles and grants'],
  ['/roles?tab=who&scope=endpoint:read', 'Roles and grants'],
  ['/roles/new', 'New role'],
  ['/roles/endpoint-reader', 'endpoint-reader'],
  ['/no/such/page', /no such page/],
]

for (const [path, heading] of pages)
  test(`${path} is accessible, narrow, and free of errors`, async () => {
    await page.goto(console_.address(path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name]!)))
    await settled(page)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    await checkAccessibility(page, path)
    await checkNarrow(page, path)
    assert.deepEqual(console_.problems, [])
  })
