/** A second `waypost apply` of the same documents changes nothing, whatever the platform stores for fields that are null. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { findKind, kinds } from '../../src/cli/apply/kinds.ts'
import { openCommands } from '../harness/commands.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { environmentOf, runCommand, startPlatform } from '../harness/platform.ts'
import { atTerminal, ctrlC } from '../harness/terminal.ts'

const { directory } = await startPlatform()
const commands = openCommands()

/** Fields that each kind needs. Triggers that are not named here need an application. */
const needed: Record<string, Record<string, unknown>> = {
  role: { name: 'reader', scopes: ['endpoint:update', 'endpoint:read'] },
  application: { name: 'plant' },
  version: { applicationName: 'plant', nameSuffix: 'v1' },
  configuration: { version: 'plant-v1', config: { zero: -0 } },
  filter: { applicationName: 'plant', name: 'ring', query: { 'metadata.ring': 'a' } },
  'asset-type': { type: 'ROW', displayName: 'Row', definitionJsonSchema: '{"type":"object"}' },
  'cron-trigger': { name: 'nightly', cronExpression: '0 3 * * *' },
  'webhook-action': { name: 'office', webhookUrl: 'https://example.org/' },
  'send-email-action': {
    name: 'mail',
    recipientsExpression: 'a@example.org',
    subjectExpression: 's',
    textExpression: 't',
  },
  'command-invocation-action': { name: 'fan', commandType: 'fan' },
  'metadata-update-action': { name: 'mark', metadataExpression: '{"a":1}' },
  'data-sample-action': { name: 'sample', dataSampleExpression: '{"a":1}' },
  'time-series-action': { name: 'series', valuesExpression: '{"value":1}', timeSeriesName: 'comfort' },
  'alert-activation-action': { name: 'hot', alertType: 'HOT' },
  'alert-resolution-action': { name: 'cool', alertType: 'HOT' },
  rule: { name: 'often', expression: 'return true' },
  'rule-execution-action': { name: 'then', rule: 'often' },
  'alert-setting': {
    name: 'heat',
    alertType: 'HOT',
    severityLevel: 'HIGH',
    appName: 'plant',
    activationExpression: 'return true',
  },
  dashboard: { name: 'overview', definition: { widgets: [] } },
}

test('apply of documents in which all optional fields are null changes nothing when it runs again', async () => {
  const documents = kinds.map(({ name }) => {
    const fields = needed[name] ?? { name, appName: 'plant' }
    const nulls = findKind(name)!
      .fields()
      .filter((field) => !Object.hasOwn(fields, field.name))
    return { kind: name, ...Object.fromEntries(nulls.map((field) => [field.name, null])), ...fields }
  })
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'all.yaml'), documents.map((document) => `---\n${stringify(document)}`).join(''))
  const apply = () => commands(['apply', '-f', folder, '--yes'], { directory })
  const first = await apply()
  assert.equal(first.code, 0, first.stdout + first.stderr)
  const second = await apply()
  assert.equal(second.stdout, `0 to create, 0 to change, 0 to delete, ${kinds.length} unchanged.\n`)
})

test('null removes the pools of an asset type', async () => {
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const write = (poolIds: string) =>
    writeFileSync(
      join(folder, 'type.yaml'),
      `kind: asset-type\ntype: SHED\ndisplayName: Shed\ndefinitionJsonSchema: '{}'\npoolIds: ${poolIds}\n`,
    )
  for (const poolIds of ['[a, b]', 'null']) {
    write(poolIds)
    const { code, stdout, stderr } = await commands(['apply', '-f', folder, '--yes'], { directory })
    assert.equal(code, 0, stdout + stderr)
  }
  const { stdout } = await commands(['plan', '-f', folder], { directory })
  assert.equal(stdout, '0 to create, 0 to change, 0 to delete, 1 unchanged.\n')
})

test('apply that is interrupted ends its step, says how many steps were not done, and exits with 130', async () => {
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const roles = Array.from({ length: 200 }, (_, index) => `---\nkind: role\nname: many-${index}\nscopes: []\n`)
  writeFileSync(join(folder, 'roles.yaml'), roles.join(''))
  const { code, stdout, stderr } = await runCommand(['apply', '-f', folder, '--yes'], {
    directory,
    onSpawn: (child) =>
      void child.stdout?.on('data', (text) => String(text).includes('created ') && child.kill('SIGINT')),
  })
  assert.equal(code, 130, stdout + stderr)
  const left = /^waypost: interrupted: the remaining steps \((\d+)\) were not done; run apply again/.exec(stderr)
  const created = stdout.match(/^created role many-/gm)?.length ?? 0
  assert.equal(created + Number(left?.[1]), 200, stderr)
  assert.match(
    (await commands(['plan', '-f', folder], { directory })).stdout,
    new RegExp(`^${left![1]} to create.* ${created} unchanged`, 'm'),
  )
})

test('Ctrl-C and Ctrl-D at the question of apply change nothing', async () => {
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'role.yaml'), 'kind: role\nname: asked\nscopes: []\n')
  for (const key of [ctrlC, '\x04']) {
    const program = resolve(import.meta.dirname, '../../bin/waypost')
    const terminal = atTerminal(`${program} apply -f ${folder}`, environmentOf(directory))
    while (!terminal.output().includes('Type yes')) await new Promise((done) => setTimeout(done, 50))
    terminal.type(key)
    assert.equal(await terminal.exit, 130, terminal.output())
    assert.match(terminal.output(), /waypost: interrupted: nothing was changed\r?\n$/)
  }
})

test('export leaves out objects with the same name, says so, and apply reads the rest', async () => {
  for (const host of ['a', 'b'])
    await commands(['webhook-actions', 'create', '--name', 'twin', '--webhook-url', `https://${host}.example.org`], {
      directory,
    })
  await commands(['roles', 'create', '--name', 'Plain', '--description', 'yes', '--scopes', '[]'], { directory })
  const { code, stdout, stderr } = await commands(['export'], { directory })
  assert.equal(code, 5)
  assert.match(stderr, /^waypost: there are 2 objects webhook-action twin; the export leaves them out: rename/)
  assert.match(stdout, /description: "yes"/)
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'export.yaml'), stdout)
  assert.match((await commands(['plan', '-f', folder], { directory })).stdout, /^0 to create, 0 to change, 0 to delete/)
})

test('export leaves out the actions of a rule that run a deleted rule', async () => {
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const documents = `kind: rule
name: target
expression: return true
---
kind: rule-execution-action
name: runs-target
rule: target
---
kind: rule
name: caller
expression: return true
positiveActions: [{ type: rule-execution, name: runs-target }]
`
  writeFileSync(join(folder, 'rules.yaml'), documents)
  assert.equal((await commands(['apply', '-f', folder, '--yes'], { directory })).code, 0)
  const { stdout: id } = await commands(['rules', 'list', '--name', 'target', '-o', 'id'], { directory })
  assert.equal((await commands(['rules', 'delete', id.trim()], { directory })).code, 0)
  const { stdout } = await commands(['export', '--kind', 'rule', '--kind', 'rule-execution-action'], { directory })
  assert.ok(stdout.includes('name: caller') && !stdout.includes('runs-target'), stdout)
})
