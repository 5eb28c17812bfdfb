import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { TopicDefinition } from '../../kernel/live/live.ts'
import { createValues } from './values.ts'

test('when one of two callers with the same permissions gets a further permission, the other caller does not see more', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const values = createValues({} as never)
  const value = {
    everySeconds: 1,
    keyOf: ({ caller }: Ctx) => caller.permissions.map(({ resource }) => resource).join(),
    read: async ({ caller }: Ctx) => JSON.stringify(caller.permissions.map(({ resource }) => resource)),
  }
  const topic = { name: 'counts', value } as unknown as TopicDefinition
  const ctxOf = () => ({ caller: aCaller({ on: { 'application-shared': ['endpoint:read'] } }) }) as unknown as Ctx
  const [one, other] = [ctxOf(), ctxOf()]
  const query = { applicationName: undefined, facets: new Map() }
  const received: string[] = []
  ;(await values.open(topic, one, query)).join(() => {})
  ;(await values.open(topic, other, query)).join((text) => received.push(text))
  // When a caller creates an application, the platform adds a permission to the list of this caller.
  ;(one.caller.permissions as unknown[]).push({ resource: 'application-own', scopes: new Set(['*']) })
  mock.timers.tick(60_000)
  await new Promise(setImmediate)
  assert.deepEqual(received, ['["application-shared"]'])
  mock.timers.reset()
})
