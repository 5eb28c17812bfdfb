/**
 * Opens the console as a user of each built-in role. Every page in the navigation must open without a rejected request, and every other
 * page must name the missing permission.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../harness/browser.ts'
import { openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'

/** The registry of pages. The import is dynamic, because the console and the tests have separate type checks. */
const registry: string = '../../console/src/pages/registry.ts'
const { pages } = (await import(registry)) as {
  pages: { path: string; title: string; group?: string; realm?: string }[]
}

const roles = [
  'tenant-admin',
  'application-admin',
  'application-reader',
  'endpoint-admin',
  'endpoint-reader',
  undefined,
]
const password = 'a long password of a tester 1'
const noPermission = 'You may not see this'

let console_: TestConsole

before(async () => {
  console_ = await openConsole()
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters', displayName: 'Meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', { endpointId: 'meter-1', appVersion: { name: 'meters-v1' } })
})

const tabs = [
  'timeline',
  'metadata',
  'commands',
  'history',
  'configuration',
  'software',
  'files',
  'relations',
  'access',
]
/** Paths of all pages without a parameter, of the pages of one application, and of the pages of one endpoint. */
const paths = [
  ...pages.filter(({ path, realm }) => !path.includes(':') && realm === undefined).map(({ path }) => path),
  '/applications/meters',
  '/applications/meters/edit',
  '/endpoints/meter-1',
  ...tabs.map((tab) => `/endpoints/meter-1?tab=${tab}`),
]

/** Returns the path pattern in the registry that matches an address: `/users/:id`. */
function registered(address: string): string | undefined {
  const path = address.split('?')[0]!
  const isSame = (pattern: string) => new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`).test(path)
  return pages.find((page) => page.path === path)?.path ?? pages.find((page) => isSame(page.path))?.path
}

/** Opens the console as a new user with this role. Rejected requests are recorded. */
async function openAs(role: string | undefined): Promise<{ page: Page; refused: string[] }> {
  const username = `${role ?? 'no-role'}-user`
  const created = await console_.api('POST /iam/api/v1/users', { username, password, roles: role ? [role] : [] })
  assert.equal(created.status, 201, created.text)
  const browser = await openBrowser()
  const refused: string[] = []
  browser.on('response', (response) => {
    if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`)
  })
  const page = await browser.newPage()
  await page.goto(console_.address('/'))
  await signIn(page, username, password)
  return { page, refused }
}

/** Opens a page within the console. Returns false if the page says that the user may not see it. */
async function visit(page: Page, path: string): Promise<boolean> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(console_.address(path))})`)
  await settled(page)
  return !(await page.getByRole('heading', { name: noPermission }).isVisible())
}

/** Returns the paths of all links of the page. */
const linksOf = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('a[href^="/"]')].map((link) => new URL(link.href).pathname)`)

for (const role of roles)
  test(`${role ?? 'a user without a role'} is offered only pages and links that open`, async () => {
    const { page, refused } = await openAs(role)
    const base = new URL(console_.address('')).pathname
    const allowed = new Map<string, boolean>()
    const linked = new Map<string, string>()
    for (const path of paths) {
      const isShown = await visit(page, path)
      allowed.set(registered(path)!, isShown)
      assert.deepEqual(refused.splice(0), [], `${path} must make no request that is rejected`)
      for (const link of await linksOf(page))
        if (link.startsWith(base)) linked.set(link.slice(base.length) || '/', path)
    }
    const wrong = [...linked].filter(([link]) => allowed.get(registered(link) ?? '') === false)
    assert.deepEqual(wrong, [], 'no page may have a link to a page that the user may not see (page → link)')
    for (const { path, group, title } of pages)
      if (group !== undefined && allowed.get(path))
        assert.ok(linked.has(path), `the user may see the page ${title}, so the navigation must have it`)
    await page.context().close()
  })
