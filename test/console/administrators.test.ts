/** Administrators in the console: users and their permissions in a tenant, and tenants of the platform. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { client, tokenOf } from '../harness/client.ts'
import { checkAccessibility, checkNarrow, openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'
import { keyboardOf } from '../harness/keyboard.ts'

let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  page = await console_.open('/users')
})

const button = (name: string | RegExp) => page.getByRole('button', { name })

test('an administrator creates a user, and sees the permissions of the user with their reasons', async () => {
  const { api } = console_
  await page.getByRole('link', { name: 'New user' }).click()
  await page.getByLabel('User name').fill('ada')
  await page.getByLabel('First name').fill('<b>Ada</b>')
  await page.getByLabel('First password').fill('correct horse battery')
  await page.getByText('endpoint-reader', { exact: true }).click()
  await button('Create').click()
  await page.getByRole('heading', { level: 1, name: '<b>Ada</b>' }).waitFor()
  const { body } = await api('GET /iam/api/v1/users?search=ada')
  assert.deepEqual(body.content[0].roles, ['endpoint-reader'])

  await page.getByRole('link', { name: 'Access' }).click()
  const row = page.getByRole('row', { name: /Read endpoints/ })
  await row.getByText('endpoint-reader').waitFor()
  assert.match(await row.innerText(), /on tenant-system/)
  assert.equal(await page.getByText('endpoint:delete', { exact: true }).count(), 0)
})

test('the page "Who may…?" lists users with a permission and the reasons', async () => {
  await page.goto(console_.address('/roles?tab=who&scope=endpoint:read'))
  const row = page.getByRole('row', { name: /^ada/ })
  await row.getByText('endpoint-reader').waitFor()
})

test('two administrators change one user or role: the administrator who saves later sees both versions, and nothing is lost', async () => {
  const { api } = console_
  const conflict = page.getByRole('alertdialog', { name: 'Somebody else has changed this' })
  const { id } = (await api('GET /iam/api/v1/users?search=ada')).body.content[0]
  await page.goto(console_.address(`/users/${id}`))
  await settled(page)
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click()
  await page.getByLabel('Last name').fill('Lovelace')
  await api(`PUT /iam/api/v1/users/${id}`, { firstName: 'Augusta' })
  console_.expect(/412/)
  await button('Save').click()
  await conflict.getByText('Augusta').waitFor()
  await conflict.getByRole('button', { name: 'Discard mine' }).click()
  assert.equal(await page.getByLabel('First name').inputValue(), 'Augusta')
  await page.getByLabel('Last name').fill('Lovelace')
  await button('Save').click()
  await page.getByText('Lovelace', { exact: true }).first().waitFor()
  const { body } = await api(`GET /iam/api/v1/users/${id}`)
  assert.deepEqual([body.firstName, body.lastName], ['Augusta', 'Lovelace'])

  await api('POST /iam/api/v1/roles', { name: 'night', description: 'one', scopes: ['endpoint:read'] })
  await page.goto(console_.address('/roles/night/edit'))
  await settled(page)
  await page.getByLabel('Description').fill('mine')
  await api('PUT /iam/api/v1/roles/night', { description: 'theirs', scopes: ['endpoint:read', 'alert:read'] })
  console_.expect(/412/)
  await button('Save').click()
  await conflict.getByText('theirs', { exact: true }).waitFor()
  await checkAccessibility(page, 'conflict of a role')
  await conflict.getByRole('button', { name: 'Save mine' }).click()
  await page.getByRole('heading', { level: 1, name: 'night', exact: true }).waitFor()
  const { description, scopes } = (await api('GET /iam/api/v1/roles/night')).body
  assert.deepEqual([description, scopes.toSorted()], ['mine', ['alert:read', 'endpoint:read']])

  await page.goto(console_.address(`/users/${id}`))
  await settled(page)
  await button('Change roles').click()
  await page.getByRole('dialog').getByText('night', { exact: true }).click()
  await api(`PUT /iam/api/v1/users/${id}/roles`, ['endpoint-reader', 'application-reader'])
  await button('Save').click()
  await page.getByText('Somebody else has changed the roles meanwhile.').waitFor()
  await button('Save').click()
  await page.getByText('Roles saved').waitFor()
  const { roles } = (await api(`GET /iam/api/v1/users/${id}`)).body
  assert.deepEqual(roles.toSorted(), ['application-reader', 'endpoint-reader', 'night'])
})

test('by keyboard alone, an administrator creates a user, gives her a role, and grants her one application', async () => {
  const { api } = console_
  const { press, type, moveTo, activate, fill, arrive, open, pick } = keyboardOf(page)
  await api('POST /api/v1/applications', { name: 'meters' })
  await page.goto(console_.address('/'))
  await settled(page)
  await open('New user', 'New user')
  await fill(/^User name/, 'grace')
  await fill(/^First name/, 'Grace')
  await fill(/^First password/, 'correct horse battery')
  await activate('button', 'Create')
  await arrive('Grace')
  await activate('button', 'Change roles')
  await page.getByRole('dialog').waitFor()
  await moveTo('checkbox', /^endpoint-reader/)
  await press('Space')
  await activate('button', 'Save')
  await page.getByText('Roles saved').waitFor()

  await open('Roles and grants', 'Roles and grants')
  await activate('link', 'Grants')
  await activate('button', 'New grant')
  await page.getByRole('dialog').waitFor()
  await pick(/Who gets it/, 'grace')
  await fill(/^Resource/, 'application-meters')
  await moveTo('searchbox', 'Search scopes')
  await type('application:update')
  await moveTo('checkbox', /^application:update/)
  await press('Space')
  await activate('button', 'Grant')
  await page.getByText('Grant made').waitFor()

  const [user] = (await api('GET /iam/api/v1/users?search=grace')).body.content
  assert.deepEqual(user.roles, ['endpoint-reader'])
  const { content } = (await api(`GET /iam/api/v1/grants?subjectType=user&subjectId=${user.id}`)).body
  assert.deepEqual(
    [content.length, content[0].resource, content[0].scopes],
    [1, 'application-meters', ['application:update']],
  )
})

test('an API key is shown once, works, and is rejected after it is revoked', async () => {
  await page.goto(console_.address('/api-keys/new'))
  await page.getByLabel('Name').fill('ci')
  await button('Create').click()
  const key = await page.getByRole('status', { name: 'The key' }).innerText()
  const asKey = client(console_.platform.baseUrl, { 'x-identity-api-key': key })
  assert.equal((await asKey('GET /iam/api/v1/me')).body.subject.type, 'api-key')

  assert.equal((await asKey('POST /api/v1/applications', { name: 'of-a-key' })).status, 201)

  await button('I have saved it').click()
  await page.goto(console_.address('/audit?operation=applications.create'))
  await page.getByRole('row', { name: /ci.*applications\.create.*of-a-key/ }).waitFor()
  await page.goto(console_.address('/api-keys'))
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
  assert.equal(await page.getByText(key).count(), 0)
  await button('Revoke').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('API key revoked').waitFor()
  assert.equal((await asKey('GET /iam/api/v1/me')).status, 401)
})

test('by keyboard alone, a user is disabled, and the audit log says who did it', async () => {
  const { api } = console_
  const { body } = await api('GET /iam/api/v1/users?search=ada')
  await page.goto(console_.address(`/users/${body.content[0].id}`))
  await settled(page)
  await button('More actions').focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Disable' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').waitFor()
  await button('Disable').focus()
  await page.keyboard.press('Enter')
  await page.getByText('User disabled').waitFor()
  assert.equal((await api(`GET /iam/api/v1/users/${body.content[0].id}`)).body.enabled, false)

  await page.goto(console_.address('/audit?operation=users.update'))
  await page
    .getByRole('row', { name: /admin.*users\.update/ })
    .first()
    .waitFor()
})

test('the platform stores the time zone of the account, and the console shows times in this zone', async () => {
  await page.goto(console_.address('/account'))
  await settled(page)
  await button(/Time zone/).click()
  await page.getByRole('option', { name: 'Asia/Tokyo' }).click()
  await page.getByText('Preferences saved').waitFor()
  assert.equal((await console_.api('GET /iam/api/v1/me/preferences')).body.zone, 'Asia/Tokyo')
  const shown = page.getByText('Now it is').locator('time')
  const utc = Date.parse((await shown.getAttribute('datetime')) ?? '')
  const tokyo = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Asia/Tokyo' }).format(utc)
  const text = await shown.innerText()
  assert.ok(text.includes(tokyo) && text.endsWith('GMT+9'), text)
})

test('a wrong present password is reported as such, and not as a missing permission', async () => {
  await page.goto(console_.address('/account'))
  await settled(page)
  await page.getByLabel(/^Present password/).fill('not my password')
  await page.getByLabel(/^New password/).fill('correct horse battery')
  console_.expect(/403.*password/)
  await button('Change the password').click()
  const refusal = page.getByRole('alert').filter({ hasText: /present password|permission/ })
  assert.match(await refusal.innerText(), /^The present password is wrong/)
})

test('an administrator of the platform creates a tenant, the administrator of the tenant signs in, and the tenant is suspended', async () => {
  const { platform } = console_
  const { admin, frontendClient, tenantId } = platform.bootstrap.platform
  const at = (path: string) => `${platform.baseUrl}/console/${tenantId}${path}`
  await page.goto(at('/tenants/new'))
  await page
    .getByLabel(/password/i)
    .first()
    .waitFor()
  await signIn(page, admin.username, admin.password ?? '')
  await page.goto(at('/'))
  await page.getByRole('link', { name: /^Tenants 2$/ }).waitFor()
  await page.getByRole('link', { name: /^Nodes 1$/ }).waitFor()
  await page.getByRole('link', { name: /^Last backup None$/ }).waitFor()
  assert.equal(await page.getByText('Connect your first device').count(), 0)
  await page.goto(at('/tenants/new'))
  await page.getByRole('textbox', { name: /^Name/ }).fill('Acme')
  await page.getByRole('textbox', { name: /^Id/ }).fill('acme')
  await page.getByLabel('E-mail address').fill('root@acme.example')
  await page.getByLabel('First name').fill('Rosa')
  await page.getByLabel('Last name').fill('Root')
  await button('Create').click()
  const password = await page.getByRole('status', { name: /Password of admin/ }).innerText()
  await button('I have saved it').click()
  await page.getByText('In service').waitFor()
  const login = { grant_type: 'password', client_id: frontendClient.id, username: 'admin', password }
  assert.ok(await tokenOf(platform.baseUrl, 'acme', login))

  await button('More actions').click()
  await page.getByRole('menuitem', { name: 'Suspend' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Suspend' }).click()
  await page.getByText('Tenant suspended').waitFor()
  const ask = await platform.asService(platform.bootstrap.platform)
  const { body } = await ask('GET /tenant-manager/api/v2/tenants?tenant_id=acme')
  assert.equal(body.results[0].status, 'SUSPENDED')
  assert.deepEqual(console_.problems, [])
})

test('by keyboard alone, an administrator of the platform creates a tenant, renames it, and reads the pages of the platform', async () => {
  const { platform } = console_
  const { press, type, activate, fill, arrive, open } = keyboardOf(page)
  await open('New tenant', 'New tenant')
  await fill(/^Name/, 'Globex')
  await fill(/^Id/, 'globex')
  await fill(/^E-mail address/, 'hank@globex.example')
  await fill(/^First name/, 'Hank')
  await fill(/^Last name/, 'Scorpio')
  await activate('button', 'Create')
  await page
    .getByRole('status', { name: /Password of admin/ })
    .and(page.locator(':focus'))
    .waitFor()
  await activate('button', 'I have saved it')
  await arrive('Globex')
  await activate('button', 'Edit')
  await fill(/^Name/, 'Globex Corporation')
  await activate('button', 'Save')
  await page.getByRole('heading', { level: 1, name: 'Globex Corporation' }).waitFor()
  const ask = await platform.asService(platform.bootstrap.platform)
  await open('Nodes', 'Nodes')
  const [node] = (await ask('GET /platform/api/v1/nodes')).body.content
  await page.getByText(node.id, { exact: true }).waitFor()
  await open('Settings', 'Settings in effect')
  await press('/')
  await type('WAYPOST_MQTT_PORT')
  await page.waitForURL(/q=WAYPOST_MQTT_PORT/)
  const settings = (await ask('GET /platform/api/v1/settings')).body.content as { name: string; value: string }[]
  const { value } = settings.find(({ name }) => name === 'WAYPOST_MQTT_PORT')!
  await page.getByRole('row', { name: new RegExp(`WAYPOST_MQTT_PORT.* ${value} `) }).waitFor()
  const { body } = await ask('GET /tenant-manager/api/v2/tenants?tenant_id=globex')
  assert.deepEqual([body.results[0].name, body.results[0].status], ['Globex Corporation', 'AVAILABLE'])
  assert.deepEqual(console_.problems, [])
})

for (const [path, heading] of [
  ['/tenants', 'Tenants'],
  ['/platform/nodes', 'Nodes'],
  ['/platform/database', 'Database and queues'],
  ['/platform/backups', 'Backups'],
  ['/platform/settings', 'Settings in effect'],
] as const)
  test(`${path} is accessible, fits a narrow screen, and has no errors`, async () => {
    await page.goto(`${console_.platform.baseUrl}/console/platform${path}`)
    await settled(page)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    await checkAccessibility(page, path)
    await checkNarrow(page, path)
    assert.deepEqual(console_.problems, [])
  })
