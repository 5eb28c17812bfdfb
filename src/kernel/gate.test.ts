import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TooManyRequests } from './errors.ts'
import { createGate } from './gate.ts'

const held = () => Promise.withResolvers<void>()
const nothing = async () => {}

suite('a gate', () => {
  test('lets the others in when somebody leaves, whatever became of the work, a tenant that has room first', async () => {
    const gate = createGate({ perTenant: 1, inAll: 2, waitingPerTenant: 5 })
    const [ofA, ofB] = [held(), held()]
    const came: string[] = []
    const failing = gate.pass('a', () => ofA.promise)
    const other = gate.pass('b', () => ofB.promise)
    const waiting = [gate.pass('a', async () => void came.push('a')), gate.pass('c', async () => void came.push('c'))]
    ofB.resolve()
    await other
    await waiting[1]
    assert.deepEqual(came, ['c'])
    ofA.reject(new Error('failed'))
    await assert.rejects(failing, /failed/)
    await Promise.all(waiting)
    assert.deepEqual(came, ['c', 'a'])
  })

  test('is for so many who wait, and not for long', async () => {
    const gate = createGate({ perTenant: 1, waitingPerTenant: 1, waitMs: 20 })
    const inside = held()
    const first = gate.pass('a', () => inside.promise)
    const second = gate.pass('a', nothing)
    await assert.rejects(gate.pass('a', nothing), TooManyRequests.is)
    await assert.rejects(second, TooManyRequests.is)
    inside.resolve()
    await first
    await gate.pass('a', nothing)
  })

  test('can be left by whoever is not done with a promise', async () => {
    const gate = createGate({ perTenant: 1, waitingPerTenant: 1 })
    const leave = await gate.enter('a')
    const next = gate.enter('a')
    await assert.rejects(gate.enter('a'), TooManyRequests.is)
    leave()
    const leaveToo = await next
    leaveToo()
    await gate.pass('a', nothing)
  })

  test('leaves room for the other callers of a tenant, and counts callers of other tenants for themselves', async () => {
    const gate = createGate({ perTenant: 3, perCaller: 2, waitingPerTenant: 5, waitMs: Infinity })
    const leaving = await Promise.all([gate.enter('a', 'greedy'), gate.enter('a', 'greedy')])
    let third = false
    const greedy = gate.enter('a', 'greedy').then((leave) => {
      third = true
      return leave
    })
    const other = await gate.enter('a', 'modest')
    const elsewhere = await gate.enter('b', 'greedy')
    assert.equal(third, false)
    leaving.pop()!()
    ;(await greedy)()
    for (const leave of [...leaving, other, elsewhere]) leave()
    await Promise.all(['x', 'x'].map((caller) => gate.enter('a', caller)))
  })

  test('refuses at once where nobody may wait', async () => {
    const gate = createGate({ perTenant: 1, waitingPerTenant: 0 })
    const inside = held()
    const first = gate.pass('a', () => inside.promise)
    await assert.rejects(gate.pass('a', nothing), TooManyRequests.is)
    await gate.pass('b', nothing)
    inside.resolve()
    await first
  })
})
