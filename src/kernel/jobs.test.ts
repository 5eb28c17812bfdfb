import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openHouse } from '../../test/harness/house.ts'
import { contract } from './contract.ts'
import { defineService, type Kit } from './define-service.ts'

const aService = (build: (kit: Kit) => void) =>
  defineService({
    name: 'test',
    provides: contract<object>('test'),
    build(kit) {
      build(kit)
      return { api: {} }
    },
  })

test('a job runs soon after the commit that sent it, and never after a rollback', async () => {
  const ran: number[] = []
  const { kit } = await openHouse({
    services: [
      aService((it) => it.jobs.define<{ n: number }>({ name: 'test.run', run: async ({ n }) => void ran.push(n) })),
    ],
  })
  const started = Date.now()
  await kit.db.tx((sql) => kit.jobs.send(sql, 'test.run', { n: 1 }))
  await assert.rejects(
    kit.db.tx(async (sql) => {
      await kit.jobs.send(sql, 'test.run', { n: 2 })
      throw new Error('rolled back')
    }),
  )
  await eventually(() => assert.deepEqual(ran, [1]))
  assert.ok(Date.now() - started < 1500, 'it did not wait for the next poll')
})

test('a backlog is worked off without waiting between jobs', async () => {
  let ran = 0
  const { kit } = await openHouse({
    services: [aService((it) => it.jobs.define<object>({ name: 'test.many', run: async () => void ran++ }))],
  })
  const started = Date.now()
  await kit.db.tx(async (sql) => {
    for (let n = 0; n < 50; n++) await kit.jobs.send(sql, 'test.many', { n })
  })
  await eventually(() => assert.equal(ran, 50), { withinMs: 20_000 })
  assert.ok(Date.now() - started < 10_000)
})

test('a failing job is tried again and knows its last attempt', async () => {
  const attempts: boolean[] = []
  const { kit } = await openHouse({
    services: [
      aService((it) =>
        it.jobs.define<object>({
          name: 'test.fail',
          retries: 1,
          async run(_, { last }) {
            attempts.push(last)
            throw new Error('no')
          },
        }),
      ),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await kit.db.tx((sql) => kit.jobs.send(sql, 'test.fail', {}))
  await eventually(() => assert.deepEqual(attempts, [false, true]), { withinMs: 20_000 })
})

test('an unknown job is refused where it is sent', async () => {
  const { kit } = await openHouse({ services: [aService(() => {})] })
  await assert.rejects(
    kit.db.tx((sql) => kit.jobs.send(sql, 'test.nobody', {})),
    /job test\.nobody is not defined/,
  )
})
