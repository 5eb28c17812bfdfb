import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { loadConfig } from '../../config.ts'
import { PlatformError } from '../../kernel/errors.ts'
import { createHashing } from './hashing.ts'

const { bcryptRounds } = loadConfig({}).platform.passwordCost
const hashing = createHashing(bcryptRounds)

test('a hash matches its own password and no other password', async () => {
  const hash = await hashing.hash('a', 'right')
  assert.match(hash, /^\$2b\$10\$/)
  assert.equal(await hashing.matches('a', 'right', hash), true)
  assert.equal(await hashing.matches('a', 'wrong', hash), false)
  for (const password of ['', 'right']) assert.equal(await hashing.matches('a', password, hashing.dummyHash), false)
})

test('a check of an unknown username takes about as much processor time as a check of a known username', async () => {
  const hash = await hashing.hash('a', 'right')
  const cpuOf = async (hash: string) => {
    const before = process.cpuUsage()
    for (let i = 0; i < 3; i++) await hashing.matches('a', 'wrong', hash)
    return process.cpuUsage(before).user
  }
  const [known, unknown] = [await cpuOf(hash), await cpuOf(hashing.dummyHash)]
  assert.ok(
    unknown > known / 2 && unknown < known * 2,
    `the check of an unknown username took ${unknown} µs, the check of a known username ${known} µs`,
  )
})

test('twenty concurrent hashes block neither the event loop nor all threads of the pool', async () => {
  let running = true
  const hashes = Promise.all(Array.from({ length: 20 }, (_, i) => hashing.hash(`tenant-${i % 5}`, `password ${i}`)))
  void hashes.finally(() => {
    running = false
  })
  // To read a file, Node.js uses the event loop and the threads that also run bcrypt. A hash on the main thread would block the event loop
  // for 70 ms.
  let reads = 0
  for (; running; reads++) await readFile(new URL(import.meta.url))
  assert.ok(reads > 50, `${reads} reads`)
})

test('a long queue of one tenant does not delay another tenant', async () => {
  const order: string[] = []
  const hashFor = (tenantId: string) => hashing.hash(tenantId, 'p').then(() => order.push(tenantId))
  const flood = Array.from({ length: 12 }, () => hashFor('flood'))
  await hashFor('quiet')
  assert.ok(order.length <= 5, order.join())
  await Promise.all(flood)
})

test('a full queue of a tenant rejects only checks of this tenant, until all queues together are full', async () => {
  const busy = createHashing(bcryptRounds, { queuedPerTenantMax: 4, queuedMax: 6 })
  const check = (tenantId: string) => busy.matches(tenantId, 'p', hashing.dummyHash).catch((error: unknown) => error)
  const flood = Array.from({ length: 20 }, () => check('flood'))
  const [quiet, other, late] = [check('quiet'), check('other'), check('late')]
  assert.equal(busy.queuedCount(), 6)
  const isRefusal = (answer: unknown) =>
    answer instanceof PlatformError && answer.status === 429 && answer.headers?.['retry-after'] === '2'
  assert.ok(isRefusal(await late), 'the total length of all queues must be limited')
  const answers = await Promise.all(flood)
  const checkedCount = answers.filter((answer) => answer === false).length
  assert.ok(checkedCount === 5 || checkedCount === 6, `${checkedCount}`) // Four checks were in the queue, and one or two were running.
  assert.equal(answers.filter(isRefusal).length, 20 - checkedCount)
  assert.deepEqual(await Promise.all([quiet, other]), [false, false])
  assert.equal(busy.queuedCount(), 0)
})
