import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { limitedResponse } from './response-limit.ts'

const by = (id: string) => ({ tenantId: 'a', caller: { subject: { type: 'user', id } } }) as Ctx

async function* pieces() {
  yield Buffer.from('a')
  yield Buffer.from('b')
}

test('a response counts towards the limit of its caller until the caller has read it or disconnects', async () => {
  const limit = createConcurrencyLimit({ perTenant: 2, perCaller: 1, waitingPerTenant: 0 })
  const begun = limitedResponse(limit, by('slow'), pieces())
  await begun.next()
  await assert.rejects(limitedResponse(limit, by('slow'), pieces()).next(), TooManyRequests.is)
  const other = limitedResponse(limit, by('quick'), pieces())
  await other.next()
  await begun.return(undefined)
  assert.equal((await Array.fromAsync(limitedResponse(limit, by('slow'), pieces()))).length, 2)
  assert.equal((await Array.fromAsync(other)).length, 1)
  assert.equal((await Array.fromAsync(limitedResponse(limit, by('quick'), pieces()))).length, 2)
})
