import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aDeviceEndpoint, sendTo } from '../../../../test/harness/device-messages.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { ids, openRegister, query, root } from '../../../../test/harness/register.ts'
import { readConfiguration } from '../../../kernel/configuration-reader.ts'
import { Register } from '../contract.ts'
import { createConnectivityKeys } from './connectivity-keys.ts'

const { waypost, admin, publishedEvents, anApplication, anEndpoint } = await openRegister()
const register = waypost.ask(Register)
const [epmx] = waypost.built.get('register')!.device!
const moment = '2026-01-02T03:04:05.678Z'
const later = '2026-01-02T03:05:00.000Z'
const setConnectivity = (endpointId: string, connected: boolean, at = moment) =>
  register.setConnectivity([{ endpointId, connected, at: new Date(at), number: Date.parse(at) }])
const metadataPath = (id: string, key?: string) =>
  `${root}/endpoints/${id}/metadata${key === undefined ? '' : `/${key}`}`
const metadataOf = async (id: string) => (await admin(`GET ${metadataPath(id)}`)).body

const named = (keys: object) => ({ connectivity: { 'metadata-keys': keys } })
const configure = (app: string, config: object, version?: string) =>
  admin(`PUT /api/v1/app-configs/applications/${app}${version ? `/app-versions/${version}` : ''}`, {
    epl: { platform: { applications: { [app]: version ? { versions: { [version]: config } } : config } } },
  })

/** Creates an application with configured connectivity keys. */
async function aNamedApplication(keys: object = { state: 'online', 'state-ts': 'online_since' }) {
  const created = await anApplication(admin, ['v1', 'v2'])
  const answer = await configure(created.app, named(keys))
  assert.equal(answer.status, 204, answer.text)
  return created
}

/** Returns the connectivity keys that the platform uses if this configuration is stored. */
const keysIn = (stored: object) =>
  createConnectivityKeys({
    derivedConfiguration: (instance, read) => (version) =>
      read(readConfiguration(instance, 'application', stored as Record<string, unknown>).config as never, version),
  })({ tenantId: 'a', applicationName: 'b', versionName: 'c' })

suite('configured connectivity keys', () => {
  test('configured connectivity keys are used in metadata and events, and do not change the ETag', async () => {
    const { app, version } = await aNamedApplication()
    const id = await anEndpoint(version, { metadata: { a: 1 } })
    const { etag } = (await admin(`GET ${metadataPath(id)}`)).headers
    await setConnectivity(id, true)
    const read = await admin(`GET ${metadataPath(id)}`)
    assert.deepEqual(read.body, { a: 1, online: true, online_since: moment })
    assert.equal(read.headers.etag, etag)
    assert.equal((await admin(`GET ${metadataPath(id, 'connected')}`)).status, 404)
    assert.deepEqual((await admin(`GET ${root}/endpoints/${id}?include=metadata`)).body.metadata, read.body)
    await setConnectivity(id, false, later)
    // The change below has a smaller number, so it is ignored.
    await setConnectivity(id, true)
    assert.deepEqual(await metadataOf(id), { a: 1, online: false, online_since: later })
    const states = publishedEvents
      .filter(({ event, payload }) => event === 'register.endpoint.metadata-updated' && payload.endpointId === id)
      .map(({ payload: { added, updated, removed } }) => [added, updated, removed])
    assert.deepEqual(states, [
      [{ online: 'true', online_since: `"${moment}"` }, {}, {}],
      [
        {},
        {
          online: { oldValue: 'true', newValue: 'false' },
          online_since: { oldValue: `"${moment}"`, newValue: `"${later}"` },
        },
        {},
      ],
    ])
    const keys = await admin(`GET ${root}/applications/${app}/metadata-keys`)
    assert.deepEqual(keys.body[version].sort(), ['a', 'online', 'online_since'], keys.text)
  })

  test('configured connectivity keys can be used in searches and filters, like the default keys', async () => {
    const { app, version } = await aNamedApplication()
    const [on, off] = [await anEndpoint(version), await anEndpoint(version)]
    await admin(`POST ${root}/applications/${app}/filters`, { name: 'f', documentQuery: { 'metadata.online': true } })
    const filterId = await eventually(async () => {
      const { content } = (await admin(`GET ${root}/applications/${app}/filters`)).body
      assert.equal(content[0].status, 'active')
      return content[0].id
    })
    await setConnectivity(on, true)
    await setConnectivity(off, false)
    const idsMatching = async (filter: object) =>
      ids(await admin(`GET ${root}/endpoints${query({ ...filter, applicationName: app })}`))
    assert.deepEqual(await idsMatching({ metadataFilter: { online: true } }), [on])
    assert.deepEqual(await idsMatching({ metadataFilter: { online_since: moment } }), [on, off])
    assert.deepEqual(await idsMatching({ metadataFilter: { connected: true } }), [])
    assert.deepEqual(await idsMatching({ metadataFilter: { connectivity_ts: moment } }), [])
    assert.deepEqual(await idsMatching({ filterId }), [on])
    await setConnectivity(on, false, later)
    assert.deepEqual(await idsMatching({ filterId }), [])
  })

  test('configured connectivity keys cannot be written by users and devices, before and after the platform writes them', async () => {
    const { app, version } = await aNamedApplication()
    for (const metadata of [{ online: false }, { online_since: 1 }, { connected: true }])
      assert.equal((await admin(`POST ${root}/endpoints`, { appVersion: { name: version }, metadata })).status, 400)
    const id = await anEndpoint(version, { metadata: { a: 1 } })
    const send = sendTo(epmx!, aDeviceEndpoint({ endpointId: id, applicationName: app, versionName: version }))
    for (const metadata of [{}, { online: true, online_since: moment }]) {
      if ('online' in metadata) await setConnectivity(id, true)
      for (const key of ['online', 'online_since', 'connected']) {
        assert.equal((await admin(`PUT ${metadataPath(id, key)}`, 'false')).status, 400, key)
        assert.equal((await admin(`DELETE ${metadataPath(id, key)}`)).status, 400, key)
        const patch = [{ op: 'add', path: `/${key}`, value: false }]
        const type = { 'content-type': 'application/json-patch+json' }
        assert.equal((await admin(`PATCH ${metadataPath(id)}`, patch, type)).status, 400, key)
        await assert.rejects(send('/update/keys', { [key]: 1 }), { status: 403 })
        await assert.rejects(send('/delete/keys', [key]), { status: 403 })
        await assert.rejects(register.updateMetadata(id, { merge: { [key]: 1 } }), { status: 400 })
        await assert.rejects(register.updateMetadata(id, { remove: [key] }), { status: 400 })
      }
      assert.equal((await admin(`PUT ${metadataPath(id)}`, { b: 1, online: 'mine' })).status, 204)
      assert.deepEqual(await metadataOf(id), { b: 1, ...metadata })
      await send('/update', { c: 1, online: 'mine' })
      assert.deepEqual(await metadataOf(id), { c: 1, ...metadata })
      assert.equal((await admin(`PUT ${metadataPath(id, 'd')}`, '1')).status, 204)
      assert.equal((await admin(`DELETE ${metadataPath(id, 'c')}`)).status, 204)
      assert.deepEqual(await metadataOf(id), { d: 1, ...metadata })
    }
  })

  test('configured connectivity keys are renamed at the first change of connectivity after a change of configuration or version', async () => {
    const { app, version } = await anApplication(admin, ['v1', 'v2'])
    const id = await anEndpoint(version, { metadata: { online: 'mine' } })
    await setConnectivity(id, true)
    assert.equal((await configure(app, named({ state: 'online' }), version)).status, 204)
    assert.deepEqual(await metadataOf(id), { online: 'mine', connected: true, connectivity_ts: moment })
    await setConnectivity(id, false, later)
    assert.deepEqual(await metadataOf(id), { online: false, connectivity_ts: later })
    await register.setVersion(id, `${app}-v2`)
    // A key that the platform has written stays reserved until the connectivity changes again.
    assert.equal((await admin(`DELETE ${metadataPath(id, 'online')}`)).status, 400)
    await setConnectivity(id, true, '2026-01-03T00:00:00.000Z')
    assert.deepEqual(await metadataOf(id), { connected: true, connectivity_ts: '2026-01-03T00:00:00.000Z' })
    assert.equal((await admin(`PUT ${metadataPath(id, 'online')}`, '"mine"')).status, 204)
    const [row] = await waypost.kit.db.sql`
      select sum(count)::int as count from (
        select count from register.counts where application_name = ${app} and metadata_key in ('online', 'connectivity_ts')
        union all select difference from register.count_differences
        where application_name = ${app} and metadata_key in ('online', 'connectivity_ts')) c`
    assert.equal(row?.count, 1)
  })

  test('configured connectivity keys that are invalid are rejected when they are written, and ignored if they are already stored', async () => {
    const { app, version } = await anApplication()
    for (const keys of [
      { state: 'a-b' },
      { state: '' },
      { state: 'x'.repeat(129) },
      { state: 7 },
      { state: 'same', 'state-ts': 'same' },
      { state: 'connectivity_ts' },
      { 'state-ts': 'connected' },
    ]) {
      assert.equal((await configure(app, named(keys))).status, 400, JSON.stringify(keys))
      assert.equal((await configure(app, named(keys), version)).status, 400, JSON.stringify(keys))
      assert.equal(keysIn(named(keys)), undefined)
    }
    for (const config of [{}, { connectivity: null }, { connectivity: 'x' }, named([]), named({})])
      assert.equal(keysIn(config), undefined)
    for (const series of [{}, { name: 'a b' }, { name: '' }, { name: 7 }, { name: 'x'.repeat(256) }])
      assert.equal((await configure(app, { connectivity: { 'time-series': series } })).status, 400)
    // A configuration may swap the two default names.
    assert.equal((await configure(app, named({ state: 'connectivity_ts', 'state-ts': 'connected' }))).status, 204)
    const id = await anEndpoint(version)
    await setConnectivity(id, true)
    assert.deepEqual(await metadataOf(id), { connected: moment, connectivity_ts: true })
    const found = await admin(`GET ${root}/endpoints${query({ metadataFilter: { connectivity_ts: true } })}`)
    assert.deepEqual(ids(found), [id])
  })
})
