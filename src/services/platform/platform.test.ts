import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { type Ask, openTestPlatform, type TestPlatform } from '../../../test/harness/test-platform.ts'
import { recordRun } from '../../kernel/backup/history.ts'
import { defineEvent } from '../../kernel/bus.ts'
import platform from './index.ts'

const root = '/platform/api/v1'
const paths = ['platform', 'nodes', 'database', 'queues', 'backups', 'settings']
const Stuck = defineEvent<{ tenantId: string }>('test.platform.stuck', { description: 'never handled' })

describe('the state of the platform', () => {
  let waypost: TestPlatform
  let other: TestPlatform
  let admin: Ask
  const environment = {
    WAYPOST_MASTER_KEY: 'a master key with more than 32 characters',
    WAYPOST_SMTP_URL: 'smtp://user:hidden-secret@mail.example:587',
    WAYPOST_LOG_LEVEL: 'fatal',
  }
  before(async () => {
    waypost = await openTestPlatform({ services: [platform], environment })
    other = await openTestPlatform({ services: [platform], environment, connection: waypost.connection })
    admin = waypost.as(aPlatformAdmin())
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  async function get(path: string): Promise<any> {
    const answer = await admin(`GET ${root}/${path}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  test('the state of the platform names version, address and nodes', async () => {
    const body = await get('platform')
    assert.match(body.version, /^\d+\.\d+\.\d+/)
    assert.deepEqual([body.baseUrl, body.diskLow, body.versions], ['http://waypost.test', false, [body.version]])
    assert.match(body.runtime, /^Node\.js v\d+/)
    assert.equal(body.nodes, 2)
  })

  test('the state of the platform contains every node with its memory and processor usage, which other nodes send on request', async () => {
    await eventually(async () => {
      const { content } = await get('nodes')
      assert.equal(content.length, 2)
      assert.equal(content.filter(({ current }: { current: boolean }) => current).length, 1)
      for (const node of content) {
        assert.equal(node.state, 'alive')
        assert.equal(node.usage?.pid, process.pid)
        assert.ok(node.usage.memory.residentBytes > 1_000_000)
        assert.ok(node.usage.cores >= 1)
      }
    })
    await other.close()
    await eventually(async () => {
      const { content } = await get('nodes')
      assert.equal(content.filter(({ state }: { state: string }) => state === 'alive').length, 1)
    })
  })

  test('the state of the platform describes the database', async () => {
    const body = await get('database')
    assert.match(body.version, /^1\d/)
    assert.ok(body.bytes > 1_000_000 && body.connections.ownConnections > 0)
    assert.ok(body.connections.total <= body.connections.max)
    assert.ok(body.tables.length > 5)
    const sizes = body.tables.map(({ bytes }: { bytes: number }) => bytes)
    assert.deepEqual(
      sizes,
      sizes.toSorted((a: number, b: number) => b - a),
    )
  })

  test('the state of the platform counts waiting events and jobs', async () => {
    const { kit } = waypost
    kit.bus.handle('test.platform.fails', Stuck, async () => {
      throw new Error('not yet')
    })
    await kit.db.tx((sql) => kit.bus.publish(sql, Stuck, { tenantId: 'acme' }))
    await eventually(async () => {
      const { events } = await get('queues')
      const found = events.find(({ subscription }: { subscription: string }) => subscription === 'test.platform.fails')
      assert.deepEqual([found?.waiting, found?.failing], [1, 1])
      assert.ok(Date.parse(found.oldestAt) > 0)
    })
    assert.deepEqual((await get('queues')).bulk, [])
    assert.ok(Array.isArray((await get('queues')).jobs))
  })

  test('the state of the platform lists backups and restores, the newest first', async () => {
    assert.deepEqual((await get('backups')).content, [])
    const run = {
      kind: 'backup' as const,
      startedAt: new Date('2026-01-01T00:00:00Z'),
      finishedAt: new Date('2026-01-01T00:01:00Z'),
      file: '/backups/one',
      program: '0.1.0',
      encrypted: true,
      withContents: false,
      tables: 3,
      rows: 5_000_000_000,
      bytes: 7,
      sha256: 'ab',
      problem: null,
    }
    await recordRun(waypost.connection, run)
    const failed = { tables: null, rows: null, bytes: null, sha256: null, problem: 'disk full' }
    await recordRun(waypost.connection, { ...run, ...failed, finishedAt: new Date('2026-01-02T00:00:00Z') })
    const [last, first] = (await get('backups')).content
    assert.deepEqual([last.problem, last.rows], ['disk full', undefined])
    assert.deepEqual(
      [first.rows, first.file, first.encrypted, first.problem],
      [5_000_000_000, '/backups/one', true, undefined],
    )
    assert.equal((await get('platform')).lastBackupAt, '2026-01-01T00:01:00.000Z')
  })

  test('the state of the platform shows settings without secrets', async () => {
    const { content } = await get('settings')
    const byName = new Map<string, Record<string, unknown>>(content.map((one: { name: string }) => [one.name, one]))
    const level = byName.get('WAYPOST_LOG_LEVEL')!
    assert.deepEqual(
      [level.value, level.default, level.origin, level.owner],
      ['fatal', 'info', 'environment', 'platform'],
    )
    assert.deepEqual(
      [byName.get('WAYPOST_MASTER_KEY')!.value, byName.get('WAYPOST_MASTER_KEY')!.secret],
      ['********', true],
    )
    assert.equal(byName.get('WAYPOST_DATABASE_URL')!.value, undefined)
    assert.match(String(byName.get('WAYPOST_PORT')!.meaning), /HTTP/)
    const text = JSON.stringify(content)
    for (const secret of ['a master key', 'hidden-secret']) assert.ok(!text.includes(secret), secret)
  })

  test('only administrators of the platform can read the state of the platform', async () => {
    for (const path of paths) {
      const operation = `GET ${root}/${path}`
      assert.equal((await waypost.as(undefined)(operation)).status, 401, path)
      assert.equal((await waypost.as(aTenantAdmin('acme'))(operation)).status, 403, path)
      const ofTenant = aCaller({ tenantId: 'platform', on: { 'tenant-system': ['platform:status:read'] } })
      assert.equal((await waypost.as(ofTenant)(operation)).status, 403, path)
      const reader = aCaller({ tenantId: 'platform', on: { 'platform-system': ['platform:status:read'] } })
      assert.equal((await waypost.as(reader)(operation)).status, 200, path)
    }
  })
})
