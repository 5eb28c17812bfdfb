/** Tests which keys the directory indexes and counts, if an application and its versions have different configurations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { Applications } from '../../applications/contract.ts'
import { createHasKey } from './settings.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const isIndexed = createHasKey(waypost.ask(Applications), 'keys')
const isCounted = createHasKey(waypost.ask(Applications), 'countedKeys')

type Directory = Record<string, unknown> | undefined

async function configure(app: string, directory: Directory, version?: string) {
  if (!directory) return
  const config = version ? { versions: { [version]: { directory } } } : { directory }
  const path = `/api/v1/app-configs/applications/${app}${version ? `/app-versions/${version}` : ''}`
  const answer = await admin(`PUT ${path}`, { epr: { platform: { applications: { [app]: config } } } })
  assert.ok(answer.status < 300, answer.text)
}

/** Creates an application with the versions v1 and v2, and configures the application and its versions. */
async function aConfiguredApplication(ofApplication: Directory, ofFirst: Directory, ofSecond: Directory) {
  const { app } = await anApplication(admin, ['v1', 'v2'])
  const [first, second] = [`${app}-v1`, `${app}-v2`] as const
  await configure(app, ofApplication)
  await configure(app, ofFirst, first)
  await configure(app, ofSecond, second)
  return { app, first, second }
}

const floor = { keys: ['floor'], 'counted-keys': ['floor'] }
/** Configures the place only, so that the default keys apply. */
const place = { place: { latitude: 'y', longitude: 'x' } }

test('an application indexes and counts a key if all of its versions do', async () => {
  // `model` is one of the default keys of both lists.
  const cases: [configurations: [Directory, Directory, Directory], hasFloor: boolean, hasModel: boolean][] = [
    [[undefined, undefined, undefined], false, true],
    [[floor, undefined, undefined], true, false],
    [[undefined, floor, undefined], false, false],
    [[undefined, floor, floor], true, false],
    [[place, floor, floor], true, false],
    [[floor, place, undefined], false, false],
    [[floor, place, place], false, true],
    [[place, floor, undefined], false, false],
    [[place, undefined, undefined], false, true],
  ]
  for (const [configurations, hasFloor, hasModel] of cases) {
    const { app } = await aConfiguredApplication(...configurations)
    for (const hasKey of [isIndexed, isCounted])
      assert.deepEqual(
        [await hasKey('default', [app], 'floor'), await hasKey('default', [app], 'model')],
        [hasFloor, hasModel],
        JSON.stringify(configurations),
      )
  }
})

test('several applications index a key if all of them do, and a version alone has the keys of its own configuration', async () => {
  const one = await aConfiguredApplication(floor, undefined, undefined)
  const other = await aConfiguredApplication(undefined, floor, undefined)
  const has = (apps: { app: string }[], versionNames?: string[]) =>
    isIndexed(
      'default',
      apps.map(({ app }) => app),
      'floor',
      versionNames,
    )
  assert.equal(await has([one, other]), false)
  assert.equal(await has([one, other], [one.first, other.first]), true)
  assert.equal(await has([one, other], [one.first, other.second]), false)
  assert.equal(await has([other], [other.first]), true)
})

test('a list sorted by a key, and counts by a key, contain the values of versions that do not configure the key', async () => {
  const { app, first, second } = await aConfiguredApplication(undefined, floor, undefined)
  await anEndpoint(first, { endpointId: 'floor-2', metadata: { floor: 2 } })
  await anEndpoint(second, { endpointId: 'floor-1', metadata: { floor: 1 } })
  await anEndpoint(second, { endpointId: 'floor-3', metadata: { floor: 3 } })
  const updateTask = waypost.built.get('register')!.periodic!.find(({ name }) => name === 'register.update-directory')!
  await updateTask.run(waypost.kit.db.sql as never)
  const list = (parameters: object) =>
    admin(`GET ${root}/directory${query({ applicationName: app, sort: 'floor', ...parameters })}`)
  assert.deepEqual(ids(await list({})), ['floor-1', 'floor-2', 'floor-3'])
  assert.deepEqual(ids(await list({ sortOrder: 'desc' })), ['floor-3', 'floor-2', 'floor-1'])
  assert.deepEqual(ids(await list({ applicationVersionName: first })), ['floor-2'])
  const { body } = await admin(`GET ${root}/directory/counts${query({ applicationName: app, by: 'floor' })}`)
  assert.deepEqual([body.counts[0].values.length, body.counts[0].missing], [3, 0])
})
