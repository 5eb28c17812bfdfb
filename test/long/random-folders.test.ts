/** Applies random folders of documents with `waypost apply`, and compares the tenant with a simple model of the expected result. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { createClient } from '../../sdk/src/index.ts'
import { readDocuments } from '../../src/cli/apply/documents.ts'
import { kinds } from '../../src/cli/apply/kinds.ts'
import { readOwnership } from '../../src/cli/apply/ownership.ts'
import { planOf } from '../../src/cli/apply/plan.ts'
import { runSteps } from '../../src/cli/apply/run.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { seededRandom } from '../harness/seeded-random.ts'

const rounds = 8
const random = seededRandom(Number(process.env.SEED ?? 17))
const chance = (share: number) => random() < share
const some = <T>(all: T[], share = 0.6) => all.filter(() => chance(share))
const shuffled = <T>(all: T[]) => all.map((one) => ({ one, at: random() })).toSorted((a, b) => a.at - b.at)
const one = <T>(all: T[]) => all[Math.floor(random() * all.length)]!

type Fields = Record<string, unknown>
type Document = Fields & { kind: string }

const oftenAbsent = (name: string, values: unknown[]): Fields => (chance(0.5) ? { [name]: one(values) } : {})
/** Returns a field with a value, an object without the field, or a field with null. Null removes the value of the field. */
const maybe = (name: string, values: unknown[]): Fields => (chance(0.2) ? { [name]: null } : oftenAbsent(name, values))

function randomDocuments(): Document[] {
  const described = () => maybe('description', ['Über alles', 'a: b', '- x', '  spaced '])
  const applications = some(['plant', 'vineyard', 'depot'])
  const versions = applications.flatMap((app) => some(['v1', 'v2']).map((nameSuffix) => ({ app, nameSuffix })))
  const triggers = some(['hourly', 'nightly', 'weekly'])
  const webhooks = some(['office', 'plant', 'nobody'])
  const rules = some(['warm', 'cold', 'windy'])
  const executions = rules.length > 0 ? some(['then-warm', 'then-cold']) : []
  const actions = [
    ...webhooks.map((name) => ({ type: 'webhook', name })),
    ...executions.map((name) => ({ type: 'rule-execution', name })),
  ]
  const linked = (all: { type: string; name: string }[]) => shuffled(some(all)).map((entry) => entry.one)
  return shuffled([
    ...some(['reader', 'writer']).map((name) => ({
      kind: 'role',
      name,
      ...described(),
      scopes: one([['endpoint:read'], ['endpoint:read', 'endpoint:update']]),
    })),
    ...applications.map((name) => ({ kind: 'application', name, ...oftenAbsent('displayName', ['One', 'Two']) })),
    ...versions.map(({ app, nameSuffix }) => ({
      kind: 'version',
      applicationName: app,
      nameSuffix,
      ...oftenAbsent('description', ['a', 'b']),
    })),
    ...some(versions).map(({ app, nameSuffix }) => ({
      kind: 'configuration',
      version: `${app}-${nameSuffix}`,
      name: 'default',
      config: one<unknown>([{ interval: 5 }, { interval: 60, deep: [1, { a: null }] }, 'text', 7]),
    })),
    ...some(applications).map((applicationName) => ({
      kind: 'filter',
      applicationName,
      name: 'canary',
      documentQuery: { 'metadata.ring': one(['canary', 'all']) },
    })),
    ...triggers.map((name) => ({
      kind: 'cron-trigger',
      name,
      ...described(),
      cronExpression: one(['0 3 * * *', '30 4 * * 1']),
      timezone: one(['UTC', 'Europe/Kyiv']),
    })),
    ...webhooks.map((name) => ({
      kind: 'webhook-action',
      name,
      ...described(),
      webhookUrl: `https://example.org/${one(['a', 'b'])}`,
      webhookPayloadExpression: one(['return 1', "return { text: '#: \\n' }"]),
    })),
    ...rules.map((name) => ({
      kind: 'rule',
      name,
      ...described(),
      expression: one(['return true', 'return false']),
      triggers: linked(triggers.map((trigger) => ({ type: 'cron', name: trigger }))),
      positiveActions: linked(actions),
      negativeActions: linked(actions),
    })),
    ...executions.map((name) => ({ kind: 'rule-execution-action', name, rule: one(rules) })),
  ]).map((entry) => entry.one)
}

function writeFolder(documents: Document[]): string {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, 'below'), { recursive: true })
  for (const path of ['one.yaml', 'below/two.yml']) {
    const half = documents.filter((_, index) => (index % 2 === 0) === (path === 'one.yaml'))
    writeFileSync(join(folder, path), half.map((document) => `---\n${stringify(document)}`).join(''))
  }
  return folder
}

const identities: Record<string, string[]> = {
  version: ['applicationName', 'nameSuffix'],
  configuration: ['version', 'name'],
  filter: ['applicationName', 'name'],
}
const keyOf = (document: Document) =>
  `${document.kind} ${(identities[document.kind] ?? ['name']).map((field) => document[field]).join('/')}`

/** Returns the objects that the tenant must have when the documents are applied with --prune to a tenant with the objects `before`. */
function model(before: Map<string, Fields>, documents: Document[]): Map<string, Fields> {
  const after = new Map<string, Fields>()
  for (const { kind, ...fields } of documents) {
    const key = keyOf({ kind, ...fields })
    const merged = { ...before.get(key), ...fields }
    after.set(key, Object.fromEntries(Object.entries(merged).filter(([, value]) => !isNullOrEmpty(value))))
  }
  return after
}

const isNullOrEmpty = (value: unknown) => value === null || (Array.isArray(value) && value.length === 0)

/** Returns the fields in a form that can be compared: links are sorted, because their order has no meaning. */
const comparable = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, /triggers|Actions/.test(name) ? texts(value) : value]),
  )
const texts = (links: unknown) =>
  (links as { type: string; name: string }[]).map(({ type, name }) => `${type} ${name}`).sort()

const clientFor = (platform: RunningPlatform) => {
  const { id: clientId, secret: clientSecret } = platform.bootstrap.default.backendClient
  return createClient({ url: platform.baseUrl, auth: { tenant: 'default', clientId, clientSecret } })
}

/** Fields without a default of the API. The test always compares them, and other fields only if a document sets them. */
const modelled = new Set(['description', 'displayName', 'triggers', 'positiveActions', 'negativeActions'])

/** Returns all objects of the tenant by kind and name, without fields that have a default. */
async function readTenant(client: ReturnType<typeof clientFor>, expected: Map<string, Fields>) {
  const found = new Map<string, Fields>()
  for (const kind of kinds)
    for await (const { fields } of kind.list(client)) {
      const key = keyOf({ kind: kind.name, ...fields })
      const isDefault = (name: string, value: unknown) =>
        value === '' || (!modelled.has(name) && expected.get(key)?.[name] === undefined)
      found.set(key, Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isDefault(name, value))))
    }
  return found
}

const sorted = (objects: Map<string, Fields>) =>
  [...objects].map(([key, fields]) => [key, comparable(fields)] as const).toSorted(([a], [b]) => (a < b ? -1 : 1))

async function apply(client: ReturnType<typeof clientFor>, folder: string) {
  const ownership = await readOwnership(client, 'default', 'random')
  const steps = await planOf(client, await readDocuments([folder]), { owned: ownership.owned })
  const { failed } = await runSteps(client, steps, ownership)
  assert.deepEqual(
    failed.map(({ step }) => step.key),
    [],
  )
  return steps
}

const [first, second] = await Promise.all([startPlatform(), startPlatform()])

test('after every random folder the tenant equals the model, and a second apply changes nothing', async () => {
  const client = clientFor(first)
  let expected = new Map<string, Fields>()
  for (let round = 0; round < rounds; round++) {
    const documents = randomDocuments()
    if (documents.length === 0) continue
    const folder = writeFolder(documents)
    await apply(client, folder)
    expected = model(expected, documents)
    assert.deepEqual(sorted(await readTenant(client, expected)), sorted(expected), `round ${round}`)
    const again = await apply(client, folder)
    assert.deepEqual(
      again.filter(({ action }) => action !== 'keep').map(({ key, changes }) => [key, changes]),
      [],
      `round ${round}`,
    )
  }
})

test('an export that is applied to another tenant creates the same objects', async () => {
  const documents: Document[] = []
  for (const kind of kinds)
    for await (const { fields } of kind.list(clientFor(first))) documents.push({ kind: kind.name, ...fields })
  assert.ok(documents.length > 5, `${documents.length} documents`)
  await apply(clientFor(second), writeFolder(documents))
  const copies: Document[] = []
  for (const kind of kinds)
    for await (const { fields } of kind.list(clientFor(second))) copies.push({ kind: kind.name, ...fields })
  const ordered = (all: Document[]) =>
    sorted(new Map(all.map((document) => [keyOf(document), document as Fields] as const)))
  assert.deepEqual(ordered(copies), ordered(documents))
})
