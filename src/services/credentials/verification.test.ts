import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import bcrypt from 'bcrypt'
import { openCredentials, root, services } from '../../../test/harness/credentials.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { migratedDatabase } from '../../../test/harness/test-platform.ts'
import { systemClock } from '../../kernel/clock.ts'

const connection = await migratedDatabase(services)
const environment = {
  WAYPOST_MASTER_KEY: 'one key for both nodes, long enough',
  WAYPOST_LOGIN_ATTEMPTS_PER_ACCOUNT: '4',
}
let clockAheadMs = 0
const now = () => new Date(systemClock().getTime() + clockAheadMs)
const node = await openCredentials({ connection, environment, now })
const { waypost, admin, publishedEvents, aBasicCredential, setState, logIn } = node
const otherNode = await openCredentials({ connection, environment, now })

/** Counts the bcrypt checks of a run. */
async function checksDuring(work: () => Promise<unknown>): Promise<number> {
  const { compare } = bcrypt
  let count = 0
  bcrypt.compare = ((...parameters: Parameters<typeof compare>) => {
    count++
    return compare(...parameters)
  }) as typeof compare
  try {
    await work()
  } finally {
    bcrypt.compare = compare
  }
  return count
}

suite('a client with a password', () => {
  test('concurrent first logins of a client with a password activate its credential once, with one event', async () => {
    const created = await aBasicCredential()
    publishedEvents.length = 0
    const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(created)))
    assert.deepEqual(new Set(answers.map((answer) => answer?.credentialId)), new Set([created.id]))
    const payload = { tenantId: 'default', credentialId: created.id, kind: 'basic', username: created.username }
    assert.deepEqual(publishedEvents, [
      { event: 'credentials.credential.state-changed', payload: { ...payload, from: 'Inactive', to: 'Active' } },
    ])
  })

  test('a client with a password is rejected with a wrong tenant, username or password', async () => {
    const created = await aBasicCredential({ username: 'right', password: 'x'.repeat(72) })
    for (const [tenantId, username, password] of [
      ['default', 'right', 'wrong'],
      ['default', 'Right', created.password],
      ['default', 'nobody', created.password],
      ['other', 'right', created.password],
      // bcrypt uses only the first 72 bytes.
      ['default', 'right', `${created.password}y`],
      ['default', 'right', ''],
      ['default', 'right', 'é'],
      ['default', 'ri\0ght', 'x'],
      ['def\0ault', 'right', created.password],
      ['', 'right', created.password],
      ['default', '', ''],
    ] as const)
      assert.equal(await node.api.verifyBasic({ tenantId, username, password, address: '192.0.2.1' }), undefined)
    assert.equal((await admin(`GET ${root}/basic-credentials/${created.id}`)).body.state, 'Inactive')
  })

  test('the first login of a client with a password needs a bcrypt check, and the next thousand logins need none', async () => {
    const created = await aBasicCredential()
    assert.equal(await checksDuring(() => Promise.all(Array.from({ length: 50 }, () => logIn(created)))), 1)
    const checks = await checksDuring(async () => {
      for (let i = 0; i < 1000; i++) assert.ok(await logIn(created))
    })
    assert.equal(checks, 0)
    // Only the first of fifty logins published an event. After it, the row was read again, but the result of the bcrypt check stayed
    // cached.
    assert.equal(await checksDuring(() => setState('basic-credentials', created.id, 'Suspended')), 0)
    await setState('basic-credentials', created.id, 'Active')
    assert.equal(await checksDuring(() => logIn(created)), 0)
  })

  test('the time of the last use of a password is written at most once a minute', async () => {
    const created = await aBasicCredential()
    const lastUse = async () => (await admin(`GET ${root}/basic-credentials/${created.id}`)).body.lastUseDate
    await logIn(created)
    const first = await lastUse()
    clockAheadMs += 50_000
    await logIn(created)
    await logIn(created)
    assert.equal(await lastUse(), first)
    clockAheadMs += 11_000
    await logIn(created)
    const second = await eventually(async () => {
      const date = await lastUse()
      assert.notEqual(date, first)
      return date
    })
    assert.ok(Date.parse(second) - Date.parse(first) >= 60_000)
  })

  test('a client with a password is rejected as soon as its credential is suspended or revoked, and accepted when it is active again', async () => {
    const created = await aBasicCredential()
    assert.ok(await logIn(created))
    await setState('basic-credentials', created.id, 'Suspended')
    assert.equal(await logIn(created), undefined)
    await setState('basic-credentials', created.id, 'Active')
    assert.ok(await logIn(created))
    await setState('basic-credentials', created.id, 'Revoked')
    assert.equal(await logIn(created), undefined)
  })

  test('a client with a password is rejected if its credential is revoked during the check', async () => {
    const created = await aBasicCredential()
    const { compare } = bcrypt
    bcrypt.compare = (async (...parameters: Parameters<typeof compare>) => {
      const matches = await compare(...parameters)
      await setState('basic-credentials', created.id, 'Revoked')
      return matches
    }) as unknown as typeof compare
    try {
      assert.equal(await logIn(created), undefined)
    } finally {
      bcrypt.compare = compare
    }
  })

  test('a change takes effect on another node within a second', async () => {
    const created = await aBasicCredential({ password: 'first' })
    const { id } = created
    assert.ok(await logIn(created))
    assert.ok(await otherNode.logIn(created))
    const expectOnOtherNode = async (expected: boolean, credential = created) =>
      eventually(async () => assert.equal((await otherNode.logIn(credential)) !== undefined, expected), {
        withinMs: 1000,
      })
    await setState('basic-credentials', id, 'Suspended')
    await expectOnOtherNode(false)
    await setState('basic-credentials', id, 'Active')
    await expectOnOtherNode(true)
    await admin(`PATCH ${root}/basic-credentials/${id}/password`, { password: 'second' })
    await expectOnOtherNode(false)
    await expectOnOtherNode(true, { ...created, password: 'second' })
    await admin(`DELETE ${root}/basic-credentials/${id}`)
    await expectOnOtherNode(false, { ...created, password: 'second' })
    assert.ok(
      otherNode.publishedEvents.some(({ payload }) => payload.credentialId === id && payload.to === 'Suspended'),
    )
  })
})

suite('lockout after wrong passwords', () => {
  test('different wrong passwords lock a username, each time for longer; a correct password that is cached is still accepted', async () => {
    const created = await aBasicCredential({ username: 'guessed' })
    assert.ok(await node.logIn(created))
    const guess = (n: number, onNode = node) => onNode.logIn({ username: 'guessed', password: `guess ${n}` })
    // Concurrent attempts are counted before they are checked.
    const checks = await checksDuring(() => Promise.all(Array.from({ length: 30 }, (_, n) => guess(n))))
    assert.equal(checks, 4)
    assert.ok(await node.logIn(created), 'the password must be accepted from the cache')
    await Promise.all(Array.from({ length: 4 }, (_, n) => guess(n, otherNode)))
    assert.equal(await otherNode.logIn(created), undefined, 'a node that has not cached the password must reject it')
    clockAheadMs += 61_000
    assert.ok(await otherNode.logIn(created))
    const checksAfterLock = await checksDuring(() => Promise.all(Array.from({ length: 30 }, (_, n) => guess(100 + n))))
    assert.equal(checksAfterLock, 4)
    clockAheadMs += 61_000
    assert.equal(await checksDuring(() => guess(200)), 0, 'the second lock must be longer')
    clockAheadMs += 60_000
    assert.equal(await checksDuring(() => guess(200)), 1)
  })

  test('wrong passwords from one address lock a username for this address only, and from very many addresses for all addresses', async () => {
    const created = await aBasicCredential({ username: 'besieged' })
    const guess = (n: number, address: string) => logIn({ username: 'besieged', password: `guess ${n}` }, { address })
    for (let n = 0; n < 8; n++) await guess(n, '198.51.100.7')
    assert.equal(
      (await otherNode.logIn(created, { address: '198.51.100.7' })) !== undefined,
      true,
      'the other node must not have counted the guesses',
    )
    assert.equal(await checksDuring(() => guess(100, '198.51.100.7')), 0, 'the address of the guesses must be locked')
    assert.ok(await logIn(created, { address: '203.0.113.1' }), 'another address must not be locked')
    // Each address guesses four times. The limit for all addresses is fifty times the limit for one address.
    for (let n = 0; n < 200; n++) await guess(1000 + n, `203.0.${n >> 2}.9`)
    assert.equal(await checksDuring(() => guess(2000, '192.0.2.200')), 0)
    clockAheadMs += 61_000
  })

  test('a repeated wrong password is neither checked nor counted, so a device with an old password causes no lockout', async () => {
    const created = await aBasicCredential({ username: 'fleet' })
    const stale = { username: 'fleet', password: 'stale' }
    const checks = await checksDuring(async () => {
      for (let i = 0; i < 30; i++) assert.equal(await logIn(stale), undefined)
    })
    assert.equal(checks, 1)
    assert.ok(await logIn(created))
  })
})

test('the metric waypost_credentials_waiting is the number of queued checks', async () => {
  assert.match(await waypost.kit.metrics.text(), /waypost_credentials_waiting 0/)
})
