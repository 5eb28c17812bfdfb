/**
 * Tries every rule of examples/rules/ on the event of the example, and compares the returned value and the effects with the expected
 * values.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from '../harness/eventually.ts'
import { openRules, rulesRoot } from '../harness/rules.ts'

interface Action {
  type: string
  [field: string]: unknown
}

interface Example {
  trigger: Record<string, unknown>
  /** The endpoint before the event; null for a run without an endpoint. */
  endpoint?: {
    metadata?: object
    samples?: object[]
    configuration?: object
    children?: { metadata: object }[]
  } | null
  positiveActions?: Action[]
  negativeActions?: Action[]
  expected: { returnedValue: string; effects: { type: string; wouldDo: object }[] }
}

const folder = new URL('../../examples/rules/', import.meta.url)
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.slice(0, -3))
const { expectStatus, make, get, aRule, anApplication, httpUrl } = await openRules()
const { version } = await anApplication()

async function register(fields: object) {
  const body = { appVersion: { name: version }, ...fields }
  return (await expectStatus(201, 'POST /epr/api/v1/endpoints', body)).body as { endpointId: string; token: string }
}

/** Registers the endpoint of an example, with the metadata, samples, configuration and children that the example needs. */
async function prepare(endpointId: string, endpoint: NonNullable<Example['endpoint']>) {
  const { metadata = {}, samples = [], configuration, children = [] } = endpoint
  const { token } = await register({ endpointId, metadata })
  for (const sample of samples) {
    const url = `${httpUrl}/kp1/${version}/dcx/${token}/json`
    assert.equal((await fetch(url, { method: 'POST', body: JSON.stringify(sample) })).status, 200)
  }
  if (configuration)
    await expectStatus(200, `PUT /ecr/api/v1/endpoints/${endpointId}/app-versions/${version}`, configuration)
  for (const { metadata } of children) await register({ metadata, relations: [{ type: 'contains', from: endpointId }] })
}

async function attach(ruleId: string, sign: 'positive' | 'negative', actions: Action[] = []) {
  for (const { type, ...fields } of actions) {
    const id = await make(`/action-types/${type}/actions`, { name: type, ...fields })
    await expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}/action-types/${type}/actions`, {
      [`${sign}ActionIds`]: [id],
    })
  }
}

/** Asserts that `actual` contains all fields of `expected`. `actual` may have further fields. */
const assertContains = (actual: unknown, expected: unknown) => assert.partialDeepStrictEqual(actual, expected as object)

assert.ok(names.length >= 24)
for (const name of names)
  test(`the example ${name} has its expected effect`, async () => {
    const expression = readFileSync(new URL(`${name}.js`, folder), 'utf8')
    assert.match(expression, /^\/\/ [A-Z]/, 'the example must start with a comment')
    const id = crypto.randomUUID()
    const text = readFileSync(new URL(`${name}.json`, folder), 'utf8').replaceAll('$endpointId', id)
    const example = JSON.parse(text) as Example
    const endpointId = example.endpoint === null ? undefined : id
    if (example.endpoint !== null) await prepare(id, example.endpoint ?? {})
    const ruleId = await aRule({ expression })
    await attach(ruleId, 'positive', example.positiveActions)
    await attach(ruleId, 'negative', example.negativeActions)
    const { trigger, expected } = example
    const { returnedValue, effects, traces } = await eventually(async () => {
      const { body } = await expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/try`, { trigger, endpointId })
      assert.deepEqual([body.traces[0].reason, body.returnedValue], [undefined, expected.returnedValue])
      return body
    })
    assert.equal(returnedValue, expected.returnedValue)
    assert.deepEqual(
      traces.filter(({ outcome }: { outcome: string }) => outcome !== 'SUCCESS'),
      [],
    )
    assert.equal(effects.length, expected.effects.length, JSON.stringify(effects))
    for (const [index, effect] of expected.effects.entries()) {
      assert.equal(
        effects[index].type
          .toLowerCase()
          .replaceAll('_', '-')
          .replace(/-action$/, ''),
        effect.type,
      )
      assertContains(effects[index].wouldDo, effect.wouldDo)
    }
    assert.equal((await get(`/alerts?entityIds=${endpointId ?? 'none'}`)).totalElements, 0)
  })
