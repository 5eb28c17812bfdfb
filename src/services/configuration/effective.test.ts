/**
 * Compares the effective, pushed and returned configurations with a slow, simple model, for random writes, moves, connections and reports.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import type { TestDevice } from '../../../test/harness/device.ts'
import { eventually } from '../../../test/harness/eventually.ts'

const { admin, ok, anApplication, anEndpoint, testEndpoint, device, statusesOf } = await openConfiguration()

const suffixes = ['v1', 'v2'] as const
const names = ['default', 'night'] as const
type Suffix = (typeof suffixes)[number]
type Name = (typeof names)[number]

const version = fc.constantFrom(...suffixes)
const name = fc.constantFrom(...names)
const value = fc.integer({ min: 0, max: 2 })
const step = fc.oneof(
  fc.record({ do: fc.constant('put' as const), version, name, value }),
  fc.record({ do: fc.constant('delete' as const), version, name }),
  fc.record({ do: fc.constant('put default' as const), version, name, value }),
  fc.record({ do: fc.constant('delete default' as const), version, name }),
  fc.record({ do: fc.constant('batch' as const), version, name, value }),
  fc.record({ do: fc.constant('move' as const), version }),
  fc.record({ do: fc.constant('apply' as const), name, isOk: fc.boolean() }),
  fc.record({ do: fc.constant('reconnect' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Config {
  configId: string
  value: number
}

interface Model {
  current: Suffix
  own: Map<string, Config>
  defaults: Map<string, Config>
  key(at: Suffix, called: Name): string
  lastApplied: Map<Name, string>
  effective(called: Name, at?: Suffix): Config | undefined
}

/** The model stores configurations in maps, and follows the rules of document 5. */
function aModel(): Model {
  const own = new Map<string, Config>()
  const defaults = new Map<string, Config>()
  const key = (at: Suffix, called: Name) => `${at} ${called}`
  const model: Model = {
    current: 'v1',
    own,
    defaults,
    key,
    lastApplied: new Map(),
    effective: (called, at = model.current) => own.get(key(at, called)) ?? defaults.get(key(at, called)),
  }
  return model
}

async function run(steps: Step[]) {
  const { app } = await anApplication([...suffixes])
  const endpoint = await anEndpoint(`${app}-v1`)
  const at = (suffix: Suffix) => testEndpoint({ app, version: `${app}-${suffix}`, ...endpoint })
  const model = aModel()
  let sensor: TestDevice | undefined
  /** Key: name of a configuration. Value: the last `configId` that the device got. */
  const got = new Map<string, string>()
  const take = () => {
    for (const { topic, json } of sensor?.received.splice(0) ?? []) {
      assert.notEqual(json.config, null, 'every push must have a configuration')
      got.set(/json\/(night)\/status$/.exec(topic)?.[1] ?? 'default', json.configId)
    }
  }

  async function perform(one: Step) {
    const { own, defaults, key } = model
    if (one.do === 'move') {
      await admin(`PUT /epr/api/v1/endpoints/${endpoint.endpointId}/app-version`, { name: `${app}-${one.version}` })
      model.current = one.version
    } else if (one.do === 'reconnect') {
      take()
      await sensor?.end()
      sensor = await device()
      await at(model.current).connect(sensor)
    } else if (one.do === 'apply') {
      const effective = model.effective(one.name)
      if (!effective) return
      const { configId } = effective
      const path = `/applied/json${one.name === 'default' ? '' : '/night'}`
      const { status } = await at(model.current).post(path, { configId, statusCode: one.isOk ? 200 : 500 })
      assert.equal(status, 200)
      if (one.isOk) model.lastApplied.set(one.name, configId)
      else if (model.lastApplied.get(one.name) === configId) model.lastApplied.delete(one.name)
    } else {
      const target = at(one.version)
      const [path, map] = one.do.endsWith('default') ? [target.defaults, defaults] : [target.path, own]
      const old = map.get(key(one.version, one.name))
      if (one.do === 'delete' || one.do === 'delete default') {
        const { status } = await admin(`DELETE ${path}?name=${one.name}`)
        assert.equal(status, one.do === 'delete' || old ? 204 : 404)
        map.delete(key(one.version, one.name))
        return
      }
      const { configId } =
        one.do === 'batch'
          ? await ok(`PUT ${ecr}/endpoints/batch?name=${one.name}`, {
              configPayload: { value: one.value },
              endpoints: { [target.version]: [endpoint.endpointId] },
            })
          : await ok(`PUT ${path}?name=${one.name}`, { value: one.value })
      assert.equal(
        configId === old?.configId,
        one.value === old?.value,
        'equal JSON must keep the id of the configuration',
      )
      map.set(key(one.version, one.name), { configId, value: one.value })
    }
  }

  for (const one of steps) {
    await perform(one)
    for (const called of names) {
      const expected = model.effective(called)
      const response = await at(model.current).post(`/config/json/${called}`, { configId: 'none' })
      assert.equal(response.body.configId, expected?.configId ?? '', JSON.stringify(one))
      for (const suffix of suffixes) {
        const read = await admin(`GET ${at(suffix).path}?name=${called}`)
        assert.equal(read.body.configId, model.effective(called, suffix)?.configId)
      }
    }
    if (!sensor) continue
    // After the steps, a connected device must have got the effective configuration, unless it had already applied it.
    await eventually(
      () => {
        take()
        for (const called of names) {
          const expected = model.effective(called)?.configId
          if (expected === undefined || expected === model.lastApplied.get(called)) continue
          assert.equal(got.get(called), expected, `${called} after ${JSON.stringify(one)}`)
        }
      },
      { withinMs: 20_000 },
    )
  }
  const effective = names.filter((called) => model.effective(called)).map((called) => model.effective(called)!.configId)
  const shown = await statusesOf(`endpointId=${endpoint.endpointId}&size=1000`)
  for (const configId of effective)
    assert.equal(
      shown.filter((record: Config) => record.configId === configId).length >= 1,
      true,
      'there must be a record of the effective configuration',
    )
  const keys = shown.map((record: Record<string, string>) =>
    [record.appVersionName, record.name, record.configId].join(' '),
  )
  assert.equal(new Set(keys).size, keys.length, 'there must be one record for each version, name and configuration')
  await sensor?.end()
}

test(
  'the effective configuration, the pushed configuration and the response of the API equal the model',
  { timeout: 240_000 },
  () => fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), run), { numRuns: 8 }),
)
