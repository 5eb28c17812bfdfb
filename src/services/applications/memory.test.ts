import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { openHouse } from '../../../test/harness/house.ts'
import { addRealms } from '../../../test/harness/realm-state.ts'
import identity from '../../identity/index.ts'
import applications from './index.ts'

test('readers during a stream of writes never see an older state than one already answered', {
  timeout: 20_000,
}, async () => {
  const house = await openHouse({ services: [applications, identity] })
  await addRealms(house, 'default')
  const admin = house.as(aTenantAdmin())
  await admin('POST /api/v1/applications', { name: 'busy', displayName: '0' })
  let written = 0
  let done = false
  const reader = async (path: string, shown: (body: never) => string) => {
    let reads = 0
    for (; !done; reads++) {
      const before = written
      const { body } = await admin(`GET ${path}`)
      assert.ok(Number(shown(body as never)) >= before, `read ${shown(body as never)} after ${before} was answered`)
      // Requests without a socket would not let the database's answers in.
      await setImmediate()
    }
    return reads
  }
  type Shown = { displayName: string }
  const readers = [
    reader('/api/v1/applications/busy', (body: Shown) => body.displayName),
    reader('/api/v1/applications/busy', (body: Shown) => body.displayName),
    reader('/api/v1/applications', (body: Shown[]) => body[0]!.displayName),
  ]
  for (let value = 1; value <= 30; value++) {
    assert.equal((await admin('PATCH /api/v1/applications/busy', { displayName: String(value) })).status, 204)
    written = value
  }
  done = true
  for (const reads of await Promise.all(readers)) assert.ok(reads > 10)
})
