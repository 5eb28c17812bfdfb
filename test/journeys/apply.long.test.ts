/** `waypost plan`, `apply` and `export` against real platforms. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../sdk/src/index.ts'
import { readDocuments } from '../../src/cli/apply/documents.ts'
import { readOwnership } from '../../src/cli/apply/ownership.ts'
import { planOf } from '../../src/cli/apply/plan.ts'
import { runSteps } from '../../src/cli/apply/run.ts'
import { openCommands } from '../harness/commands.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { type RunningPlatform, runCommand, startPlatform } from '../harness/platform.ts'

const [one, two] = await Promise.all([startPlatform(), startPlatform()])
const commands = openCommands()
const home = { XDG_CONFIG_HOME: temporaryDirectory() }
const run = ({ directory }: RunningPlatform, ...args: string[]) => commands(args, { directory, environment: home })
async function output(platform: RunningPlatform, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(platform, ...args)
  assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

const folder = temporaryDirectory()
mkdirSync(join(folder, 'automation'), { recursive: true })
const file = (name: string, text: string) => writeFileSync(join(folder, name), text)

const fleet = (displayName: string) => `
kind: application
name: vineyard
displayName: ${displayName}
---
kind: version
applicationName: vineyard
nameSuffix: v1
---
kind: configuration
version: vineyard-v1
name: default
config: { interval: 60 }
---
kind: filter
applicationName: vineyard
name: canary
documentQuery: { metadata.ring: canary }
---
kind: role
name: vintner
description: Reads the vineyard
scopes: [endpoint:read]
---
kind: asset-type
type: ROW
displayName: A row of vines
definitionJsonSchema: '{"type":"object"}'
`
const automation = `
kind: cron-trigger
name: nightly
cronExpression: 0 3 * * *
timezone: Europe/Kyiv
---
kind: webhook-action
name: tell the office
webhookUrl: https://example.org/office
webhookPayloadExpression: "return { at: 'night' }"
---
kind: rule
name: every night
expression: return true
triggers: [{ type: cron, name: nightly }]
positiveActions: [{ type: webhook, name: tell the office }]
`
file('fleet.yaml', fleet('The vineyard'))
file('automation/rules.yml', automation)
file('notes.txt', 'this is no document')

const nothing = async () => {}
/** Ownership for steps whose created objects the test does not record. */
const withoutOwnership = {
  begun: [],
  lock: async () => true,
  requireLease: nothing,
  stopRenewing() {},
  begin: nothing,
  end: nothing,
}

test('plan shows every object that apply would create, and creates nothing', async () => {
  const plan = await output(one, 'plan', '-f', folder)
  assert.match(plan, /^\+ role vintner\n\+ application vineyard\n\+ version vineyard-v1\n/)
  assert.match(plan, /\+ rule every night\n9 to create, 0 to change, 0 to delete, 0 unchanged\.\n$/)
  assert.equal(await output(one, 'applications', 'list', '-o', 'id'), '')
})

test('apply creates the objects, and a second apply changes nothing', async () => {
  const first = await output(one, 'apply', '-f', folder, '--yes')
  assert.equal(first.match(/^created /gm)?.length, 9, first)
  const second = await output(one, 'apply', '-f', folder, '--yes')
  assert.equal(second, '0 to create, 0 to change, 0 to delete, 9 unchanged.\n')
})

test('the plan of a change names the changed fields, and the number of endpoints that the change concerns', async () => {
  await output(one, 'endpoints', 'create', '--app-version', '{"name":"vineyard-v1"}', '--endpoint-id', 'vine-1')
  file('fleet.yaml', fleet('The old vineyard').replace('interval: 60', 'interval: 5'))
  const plan = await output(one, 'plan', '-f', folder)
  assert.match(plan, /~ application vineyard\n {4}- displayName: The vineyard\n {4}\+ displayName: The old vineyard\n/)
  assert.match(plan, /~ configuration vineyard-v1\/default {2}\(1 endpoint\)\n {4}- config: \{"interval":60\}\n/)
  await output(one, 'apply', '-f', folder, '--yes')
  assert.match(await output(one, 'plan', '-f', folder), /^0 to create, 0 to change, 0 to delete, 9 unchanged\.\n$/)
})

test('an export that is applied to an empty platform creates the same objects', async () => {
  const exported = await output(one, 'export')
  const copy = join(temporaryDirectory(), 'copy.yaml')
  mkdirSync(join(copy, '..'), { recursive: true })
  writeFileSync(copy, exported)
  await output(two, 'apply', '-f', copy, '--yes')
  assert.equal(await output(two, 'export'), exported)
})

test('apply --prune deletes only objects that an earlier apply created', async () => {
  await output(one, 'roles', 'create', '--name', 'by-others', '--scopes', '["endpoint:read"]')
  file('automation/rules.yml', '')
  assert.match(await output(one, 'plan', '-f', folder), / 0 to delete, 6 unchanged\.\n$/)
  const plan = await output(one, 'plan', '-f', folder, '--prune')
  assert.match(plan, /^- rule every night\n- webhook-action tell the office\n- cron-trigger nightly\n/)
  await output(one, 'apply', '-f', folder, '--prune', '--yes')
  const roles = await output(one, 'roles', 'list', '-o', 'id')
  assert.ok(roles.includes('by-others') && roles.includes('vintner'), roles)
  assert.equal(await output(one, 'rules', 'list', '-o', 'id'), '')
})

test('apply --prune does not delete an object that another caller has created with the name of a deleted one', async () => {
  const path = join(temporaryDirectory(), 'replaced.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  const documents = `
kind: role
name: lost
scopes: [endpoint:read]
---
kind: application
name: lost
---
kind: version
applicationName: lost
nameSuffix: v1
---
kind: configuration
version: lost-v1
config: { a: 1 }
---
kind: cron-trigger
name: lost
cronExpression: 0 3 * * *
timezone: Europe/Kyiv
---
kind: rule
name: lost
expression: return true
`
  const set = ['--set', 'replaced', '--yes']
  writeFileSync(path, documents)
  await output(one, 'apply', '-f', path, ...set)
  const remove = async () => {
    for (const noun of ['rules', 'cron-triggers']) {
      const [id] = (await output(one, noun, 'list', '--name', 'lost', '-o', 'id')).split('\n')
      await output(one, noun, 'delete', id!)
    }
    await output(one, 'applications', 'delete', 'lost')
    await output(one, 'roles', 'delete', 'lost')
  }
  await remove()
  // Another set stands for another caller.
  await output(one, 'apply', '-f', path, '--set', 'others', '--yes')
  const empty = join(path, '../empty.yaml')
  writeFileSync(empty, 'kind: role\nname: another\nscopes: [endpoint:read]\n')
  const pruned = await output(one, 'apply', '-f', empty, '--prune', ...set)
  assert.match(pruned, /^\+ role another\n1 to create, 0 to change, 0 to delete, 0 unchanged\.\n/)
  assert.match(await output(one, 'plan', '-f', path), / 0 to change, 0 to delete, 6 unchanged\.\n$/)
  // The set `others` has created these objects, so `apply --prune` with this set deletes them, even after a change.
  writeFileSync(path, documents.replace('a: 1', 'a: 2').replace('[endpoint:read]', '[endpoint:update]'))
  await output(one, 'apply', '-f', path, '--set', 'others', '--yes')
  assert.match(await output(one, 'apply', '-f', empty, '--prune', '--set', 'others', '--yes'), / 6 to delete/)
})

/** Forwards requests to a platform, except requests that create a role: they get no answer. */
async function openHoldingProxy({ baseUrl }: RunningPlatform) {
  let hold = () => {}
  /** Waits for the next request that creates a role. */
  const nextHeld = () =>
    new Promise<void>((resolve) => {
      hold = resolve
    })
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    if (method === 'POST' && url.endsWith('/roles')) return void hold()
    const forwarded = httpRequest(new URL(url, baseUrl), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, nextHeld, close }
}

test('after kill -9 of an apply, the next apply on the same machine continues at once, and on another machine within seconds', async () => {
  const path = join(temporaryDirectory(), 'killed.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  const proxy = await openHoldingProxy(one)
  const key = JSON.parse(await output(one, 'api-keys', 'create', '--name', 'killed', '-o', 'json')).key as string
  const environment = { ...home, WAYPOST_URL: proxy.url, WAYPOST_API_KEY: key }
  const kill = async (name: string) => {
    writeFileSync(path, `kind: role\nname: ${name}\nscopes: [endpoint:read]\n`)
    let pid = 0
    const held = proxy.nextHeld()
    const killed = runCommand(['apply', '-f', path, '--yes', '--set', 'killed'], {
      environment,
      onSpawn: (child) => (pid = child.pid!),
    })
    await Promise.race([
      held,
      killed.then(({ stdout, stderr }) => Promise.reject(new Error(`apply has ended: ${stdout}${stderr}`))),
    ])
    process.kill(pid, 'SIGKILL')
    await killed
  }
  const again = () => run(one, 'apply', '-f', path, '--yes', '--set', 'killed')
  try {
    await kill('killed-here')
    const here = await again()
    assert.deepEqual([here.code, here.stderr], [0, ''])
    assert.match(here.stdout, /created role killed-here/)

    await kill('killed-there')
    await pretendOtherMachine('killed')
    const began = performance.now()
    const there = await again()
    assert.match(there.stderr, /^waypost: another apply runs, or was interrupted; waiting up to 6 s\n$/)
    assert.match(there.stdout, /created role killed-there/)
    assert.ok(performance.now() - began < 10_000)
  } finally {
    proxy.close()
  }
})

/** Changes the stored lease of a set, so that it seems to belong to a process of another machine. */
async function pretendOtherMachine(set: string) {
  const { id: clientId, secret: clientSecret } = one.bootstrap.default.backendClient
  const client = createClient({ url: one.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
  for await (const { name, configId } of client.systemConfigurations.tenants.list({ tenantId: 'default' })) {
    if (name !== `waypost-apply-${set}`) continue
    const { body, etag } = await client.systemConfigurations.tenants.get({ tenantId: 'default', configId })
    const stored = JSON.parse((body as { config: string }).config)
    stored.lease.process = stored.lease.process.replace(/^\S+/, 'another-machine')
    const args = { tenantId: 'default', configId, body: { name, config: JSON.stringify(stored) } }
    assert.equal((await client.systemConfigurations.tenants.update(args, { ifMatch: etag! })).status, 204)
    return
  }
  assert.fail('there is no lease')
}

test('a document that refers to an object that does not exist is rejected before anything is changed', async () => {
  const wrong: Record<string, string> = {
    'application nowhere': 'kind: version\napplicationName: nowhere\nnameSuffix: v1\n',
    'version nowhere-v1': 'kind: configuration\nversion: nowhere-v1\nconfig: 1\n',
    'cron-trigger nowhen':
      'kind: rule\nname: dangling\nexpression: return true\ntriggers: [{ type: cron, name: nowhen }]\n',
    'webhook-action nowhere':
      'kind: rule\nname: dangling\nexpression: return true\nnegativeActions: [{ type: webhook, name: nowhere }]\n',
    'rule nowhere': 'kind: rule-execution-action\nname: dangling\nrule: nowhere\n',
  }
  for (const [name, text] of Object.entries(wrong)) {
    const path = documentsFile(`${roleOf('before-dangling')}---\n${text}`)
    for (const command of [['plan'], ['apply', '--yes']]) {
      const { code, stderr } = await run(one, ...command, '-f', path)
      assert.equal(code, 2, stderr)
      assert.ok(stderr.includes(` refers to ${name}, which does not exist and is in no document\n`), stderr)
    }
  }
  assert.ok(!(await output(one, 'roles', 'list', '-o', 'id')).includes('before-dangling'))
})

test('if one step fails, apply reports the failure and does all other steps', async () => {
  const mixed = join(temporaryDirectory(), 'mixed.yaml')
  mkdirSync(join(mixed, '..'), { recursive: true })
  writeFileSync(
    mixed,
    'kind: role\nname: good\nscopes: [endpoint:read]\n---\nkind: role\nname: bad\nscopes: [no:such:scope]\n---\nkind: application\nname: also-good\n',
  )
  const { code, stdout, stderr } = await run(one, 'apply', '-f', mixed, '--yes')
  // The platform rejects the role with 403, because the caller does not have its scope.
  assert.equal(code, 4, stdout)
  assert.match(stdout, /\ncreated role good\nFAILED role bad: .+\ncreated application also-good\n/)
  assert.match(stderr, /1 of the steps failed/)
})

test('a document with null for a field that the API cannot remove is rejected with the name of the field', async () => {
  const path = join(temporaryDirectory(), 'removed.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, 'kind: application\nname: vineyard\ndisplayName: null\n')
  const { code, stdout } = await run(one, 'apply', '-f', path, '--yes')
  assert.equal(code, 1, stdout)
  assert.match(
    stdout,
    /FAILED application vineyard: displayName: the displayName of an application can be changed but not removed/,
  )
})

test('apply does not change an object that another caller changed after the plan', async () => {
  const { id: clientId, secret: clientSecret } = one.bootstrap.default.backendClient
  const client = createClient({ url: one.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
  const path = join(temporaryDirectory(), 'moved.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(
    path,
    'kind: application\nname: also-good\ndisplayName: Mine\n---\nkind: role\nname: good\nscopes: [endpoint:update]\n',
  )
  const steps = await planOf(client, await readDocuments([path]))
  await client.applications.patch({ appName: 'also-good', body: { displayName: 'Theirs' } })
  await client.roles.update({ name: 'good', body: { scopes: ['time-series:read'] } })
  const { failed } = await runSteps(client, steps, withoutOwnership)
  assert.deepEqual(
    failed.map(({ step, exitCode }) => [step.key, exitCode]),
    [
      ['good', 5],
      ['also-good', 5],
    ],
  )
  const { body } = await client.applications.get({ appName: 'also-good' })
  assert.equal((body as { displayName: string }).displayName, 'Theirs')
})

test('apply does not change versions and configurations that another caller changed, or objects that another caller created, after the plan', async () => {
  const { id: clientId, secret: clientSecret } = one.bootstrap.default.backendClient
  const client = createClient({ url: one.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
  const path = join(temporaryDirectory(), 'moved.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(
    path,
    `kind: version
applicationName: vineyard
nameSuffix: v1
displayName: Mine
---
kind: configuration
version: vineyard-v1
name: default
config: mine
---
kind: configuration
version: vineyard-v1
name: extra
config: mine
---
kind: webhook-action
name: both
webhookUrl: https://example.org/mine
`,
  )
  const steps = await planOf(client, await readDocuments([path]))
  const version = { appName: 'vineyard', appVersionName: 'vineyard-v1' }
  await client.applications.versions.patch({ ...version, body: { displayName: 'Theirs' } })
  for (const name of ['default', 'extra'])
    await client.configurations.defaults.update({ appVersionName: 'vineyard-v1', name, body: 'theirs' })
  await client.webhookActions.create({ body: { name: 'both', webhookUrl: 'https://example.org/theirs' } })
  const { failed } = await runSteps(client, steps, withoutOwnership)
  assert.deepEqual(failed.map(({ step, exitCode }) => [step.key, exitCode]).sort(), [
    ['both', 5],
    ['vineyard-v1', 5],
    ['vineyard-v1/default', 5],
    ['vineyard-v1/extra', 5],
  ])
  const { body } = await client.applications.versions.get(version)
  assert.equal((body as { displayName: string }).displayName, 'Theirs')
  const configurations = client.list<{ config: string }>('configurations.defaults.list', version)
  assert.deepEqual(
    (await Array.fromAsync(configurations)).map(({ config }) => config),
    ['"theirs"', '"theirs"'],
  )
  assert.equal((await Array.fromAsync(client.webhookActions.list())).length, 1)
})

const fleetClient = () => {
  const { id: clientId, secret: clientSecret } = one.bootstrap.default.backendClient
  return createClient({ url: one.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
}

/** Runs an apply that ends before it can store which objects it has created. With `created: false` it ends before the first request. */
async function interruptedApply(set: string, path: string, { created }: { created: boolean }) {
  const client = fleetClient()
  const steps = await planOf(client, await readDocuments([path]))
  const ownership = await readOwnership(client, 'default', set)
  const killed = new Error('killed')
  const end = async () => Promise.reject(killed)
  const requireLease = created ? nothing : end
  await assert.rejects(runSteps(client, steps, { ...ownership, lock: async () => true, requireLease, end }), killed)
}

const roleOf = (name: string) => `---\nkind: role\nname: ${name}\nscopes: [endpoint:read]\n`

function documentsFile(text: string): string {
  const path = join(temporaryDirectory(), 'documents.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

test('objects that an interrupted apply created are recorded by the next apply, and a later apply with --prune deletes them', async () => {
  const path = documentsFile(roleOf('first'))
  await interruptedApply('interrupted', path, { created: true })
  const set = ['--set', 'interrupted', '--yes']
  writeFileSync(path, roleOf('first') + roleOf('second'))
  assert.match(await output(one, 'apply', '-f', path, ...set), /^\+ role second\n1 to create, .* 1 unchanged\./)
  writeFileSync(path, roleOf('second'))
  assert.match(await output(one, 'apply', '-f', path, '--prune', ...set), /\ndeleted role first\n$/)
  assert.match(await output(one, 'apply', '-f', path, '--prune', ...set), /^0 to create, 0 to change, 0 to delete, /)
  for (const command of ['plan', 'apply'])
    assert.match(
      (await run(one, command, '-f', path, '--set', 'a b')).stderr,
      /--set: expected letters, digits, _ and -/,
    )
})

test('apply --prune deletes an object of an interrupted apply that no document names any more', async () => {
  const application =
    'kind: application\nname: abandoned\n---\nkind: cron-trigger\nname: abandoned\ncronExpression: 0 3 * * *\ntimezone: Europe/Kyiv\n'
  await interruptedApply('abandoned', documentsFile(roleOf('abandoned') + '---\n' + application), { created: true })
  const path = documentsFile(roleOf('kept'))
  const set = ['--set', 'abandoned', '--yes']
  const pruned = await output(one, 'apply', '-f', path, '--prune', ...set)
  assert.match(
    pruned,
    /\n- cron-trigger abandoned\n- application abandoned\n- role abandoned\n1 to create, 0 to change, 3 to delete,/,
  )
  assert.match(
    await output(one, 'apply', '-f', path, '--prune', ...set),
    /^0 to create, 0 to change, 0 to delete, 1 unch/,
  )
})

test('an object that another caller created with the name of an object of an interrupted apply is never deleted', async () => {
  const names = ['strange-role', 'strange-again']
  const trigger = '---\nkind: cron-trigger\nname: strange\ncronExpression: 0 3 * * *\ntimezone: Europe/Kyiv\n'
  const path = documentsFile(roleOf(names[0]!) + trigger)
  const client = fleetClient()
  // The first apply ends before it creates its objects, and the second apply ends after it has created its object.
  await interruptedApply('strange', path, { created: false })
  await client.cronTriggers.create({ body: { name: 'strange', cronExpression: '0 3 * * *', timezone: 'Europe/Kyiv' } })
  await client.roles.create({ body: { name: names[0]!, scopes: ['endpoint:read'] } })
  writeFileSync(path, roleOf(names[1]!))
  await interruptedApply('strange', path, { created: true })
  await client.roles.delete({ name: names[1]! })
  await client.roles.create({ body: { name: names[1]!, scopes: ['endpoint:read'] } })

  const set = ['--set', 'strange', '--yes']
  const empty = documentsFile(roleOf('another'))
  assert.match(await output(one, 'plan', '-f', empty, '--prune', '--set', 'strange'), / 0 to delete, /)
  writeFileSync(path, names.map(roleOf).join('') + trigger)
  assert.match(await output(one, 'apply', '-f', path, ...set), /^0 to create, 0 to change, 0 to delete, 3 unchanged/)
  assert.match(await output(one, 'apply', '-f', empty, '--prune', ...set), / 0 to delete, /)
  const roles = await output(one, 'roles', 'list', '-o', 'id')
  for (const name of names) assert.ok(roles.includes(name), name)
})

test('a caller who may not read the audit log gets a note about objects that an interrupted apply may have created', async () => {
  const path = documentsFile(roleOf('unaudited'))
  await interruptedApply('unaudited', path, { created: true })
  const set = ['--set', 'unaudited', '--yes']
  const scopes = '["identity:role:read","tenant:configuration:read","tenant:configuration:update"]'
  const key = JSON.parse(
    await output(one, 'api-keys', 'create', '--name', 'deployer', '--scopes', scopes, '-o', 'json'),
  )
  const environment = { ...home, WAYPOST_URL: one.baseUrl, WAYPOST_API_KEY: key.key as string }
  const limited = await commands(['apply', '-f', path, ...set], { directory: one.directory, environment })
  assert.equal(limited.code, 0, limited.stdout + limited.stderr)
  assert.match(limited.stdout, /^note: an interrupted apply may have created role unaudited; /m)
  // A later apply by a caller who may read the audit log records the object as an object of this set.
  assert.doesNotMatch(await output(one, 'apply', '-f', path, ...set), /note/)
  const pruned = await output(one, 'apply', '-f', documentsFile(roleOf('other')), '--prune', ...set)
  assert.match(pruned, /\ndeleted role unaudited\n$/)
})

test('two applies of the same set at the same time create each object once', async () => {
  const { id: clientId, secret: clientSecret } = one.bootstrap.default.backendClient
  const client = createClient({ url: one.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
  const path = join(temporaryDirectory(), 'twice.yaml')
  mkdirSync(join(path, '..'), { recursive: true })
  const names = ['twin-1', 'twin-2', 'twin-3', 'twin-4', 'twin-5']
  const action = (name: string) => `---\nkind: webhook-action\nname: ${name}\nwebhookUrl: https://example.org/\n`
  writeFileSync(path, names.map(action).join(''))
  const steps = await planOf(client, await readDocuments([path]))
  const apply = async () => runSteps(client, steps, await readOwnership(client, 'default', 'twice'))
  const failures = (await Promise.all([apply(), apply()])).map(({ failed }) => failed.map(({ exitCode }) => exitCode))
  assert.deepEqual(failures.toSorted(), [[], [5, 5, 5, 5, 5]])
  const actions = await Array.fromAsync(client.list<{ name: string }>('webhookActions.list'))
  const twins = actions.map(({ name }) => name).filter((name) => name.startsWith('twin-'))
  assert.deepEqual(twins.sort(), names)
})

test('apply and open use the API key in the environment, whichever tenant the key belongs to', async () => {
  const ask = await one.asService(one.bootstrap.platform)
  const { key } = (await ask('POST /iam/api/v1/api-keys', { name: 'apply' })).body
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  const path = join(directory, 'role.yaml')
  writeFileSync(path, 'kind: role\nname: auditor\nscopes: [tenant:audit:read]\n')
  const environment = { ...home, WAYPOST_URL: one.baseUrl, WAYPOST_API_KEY: key }
  const { code, stdout, stderr } = await commands(['apply', '-f', path, '--yes'], { directory, environment })
  assert.deepEqual([code, /\ncreated role auditor\n$/.test(stdout)], [0, true], stdout + stderr)
  const opened = await commands(['open', 'roles', '--no-browser'], { directory, environment })
  assert.equal(opened.stdout, `${one.baseUrl}/console/platform/roles\n`)
})

test('apply creates a dashboard and changes it with a new version, and export writes it like the document', async () => {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  const path = join(directory, 'dashboard.yaml')
  const dashboard = (title: string) => `kind: dashboard
name: Greenhouse
definition:
  variables:
    - { name: device, kind: endpoint }
  widgets:
    - { kind: text, id: note, x: 0, y: 0, width: 12, height: 4, title: ${title}, text: '# Hello' }
    - kind: chart
      id: temperature
      x: 12
      y: 0
      width: 12
      height: 8
      series: [{ endpoint: $device, timeSeries: auto~temperature }]
`
  writeFileSync(path, dashboard('First'))
  assert.match(await output(one, 'apply', '-f', path, '--yes'), /^created dashboard Greenhouse$/m)
  assert.match(await output(one, 'plan', '-f', path), /1 unchanged\.\n$/)
  writeFileSync(path, dashboard('Second'))
  await output(one, 'apply', '-f', path, '--yes')
  const ask = await one.asService(one.bootstrap.default)
  const { body } = await ask('GET /dashboards/api/v1/dashboards')
  assert.deepEqual(
    body.content.map(({ name, version }: { name: string; version: number }) => [name, version]),
    [['Greenhouse', 2]],
  )
  assert.match(await output(one, 'export'), /kind: dashboard\nname: Greenhouse\ndefinition:\n {2}variables:\n/)
  writeFileSync(path, dashboard('Third').replace('kind: chart', 'kind: pie'))
  assert.notEqual((await run(one, 'apply', '-f', path, '--yes')).code, 0)
})
