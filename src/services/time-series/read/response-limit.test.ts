import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { heldAnswer } from './response-limit.ts'

const by = (id: string) => ({ tenantId: 'a', caller: { subject: { type: 'user', id } } }) as Ctx

async function* pieces() {
  yield Buffer.from('a')
  yield Buffer.from('b')
}

test('an answer counts against its caller until it is read or given up', async () => {
  const gate = createConcurrencyLimit({ perTenant: 2, perCaller: 1, waitingPerTenant: 0 })
  const begun = heldAnswer(gate, by('slow'), pieces())
  await begun.next()
  await assert.rejects(heldAnswer(gate, by('slow'), pieces()).next(), TooManyRequests.is)
  const other = heldAnswer(gate, by('quick'), pieces())
  await other.next()
  await begun.return(undefined)
  assert.equal((await Array.fromAsync(heldAnswer(gate, by('slow'), pieces()))).length, 2)
  assert.equal((await Array.fromAsync(other)).length, 1)
  assert.equal((await Array.fromAsync(heldAnswer(gate, by('quick'), pieces()))).length, 2)
})
