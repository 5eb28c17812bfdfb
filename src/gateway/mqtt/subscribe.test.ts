import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connected } from '../../../test/harness/mqtt-raw.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'
import type { Subscription } from './host.ts'
import { isFilter, matches } from './topics.ts'

const subscribe = (
  messageId: number,
  ...subscriptions: { topic: string; qos?: 0 | 1 | 2; [option: string]: unknown }[]
) =>
  ({ cmd: 'subscribe', messageId, subscriptions: subscriptions.map((one) => ({ qos: 0 as const, ...one })) }) as const

test('SUBACK has the result of the host for each filter', async () => {
  const requested: Subscription[] = []
  const { port } = await openMqttServer({
    host: {
      subscribe(_, subscriptions) {
        requested.push(...subscriptions)
        return subscriptions.map(({ filter, qos }) => (filter === 'no' ? 0x87 : qos))
      },
    },
  })
  const version5 = await connected(port, { protocolVersion: 5 })
  version5.send({
    ...subscribe(1, { topic: 'a/+', qos: 2, nl: true, rap: true, rh: 2 }, { topic: 'no' }, { topic: '$share/g/t' }),
    properties: { subscriptionIdentifier: 5 },
  })
  assert.deepEqual((await version5.next('suback')).granted, [2, 0x87, 0x9e])
  assert.deepEqual(requested, [
    { filter: 'a/+', qos: 2, noLocal: true, retainAsPublished: true, retainHandling: 2, subscriptionIdentifier: 5 },
    { filter: 'no', qos: 0, subscriptionIdentifier: 5 },
  ])
  version5.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a/+', 'never'] })
  assert.deepEqual([...((await version5.next('unsuback')).granted as number[])], [0, 0x11])
  const version4 = await connected(port, { clientId: 'version4' })
  version4.send(subscribe(1, { topic: 'a', qos: 1 }, { topic: 'no' }))
  assert.deepEqual((await version4.next('suback')).granted, [1, 0x80])
  version4.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a'] })
  assert.equal((await version4.next('unsuback')).messageId, 2)
})

test('a session has a limited number of subscriptions', async () => {
  const { port } = await openMqttServer({ limits: { subscriptionsMax: 2 } })
  const client = await connected(port, { protocolVersion: 5 })
  client.send(subscribe(1, { topic: 'a' }, { topic: 'b' }))
  assert.deepEqual((await client.next('suback')).granted, [0, 0])
  client.send(subscribe(2, { topic: 'c' }, { topic: 'a', qos: 1 }))
  assert.deepEqual((await client.next('suback')).granted, [0x97, 1])
  client.send(subscribe(3, { topic: 'a' }, { topic: 'b' }, { topic: 'c' }))
  assert.equal((await client.next('disconnect')).reasonCode, 0x97)
})

test('the server rejects malformed subscriptions', async () => {
  const { port } = await openMqttServer({ offers: { sharedSubscriptions: true } })
  const cases: [string, string, number][] = [
    ['no filter', '82 03 0001 00', 0x81],
    ['packet id 0', '82 07 0000 00 0001 70 00', 0x81],
    ['an empty filter', '82 06 0001 00 0000 00', 0x81],
    ['no options', '82 06 0001 00 0001 70', 0x81],
    ['QoS 3', '82 07 0001 00 0001 70 03', 0x81],
    ['reserved options', '82 07 0001 00 0001 70 40', 0x81],
    ['retain handling 3', '82 07 0001 00 0001 70 30', 0x82],
    ['a wildcard within a level', '82 08 0001 00 0002 7023 00', 0x81],
    ['a # before the end', '82 09 0001 00 0003 232f70 00', 0x81],
    ['reserved flags', '80 07 0001 00 0001 70 00', 0x81],
    ['subscription identifier 0', '82 09 0001 02 0b00 0001 70 00', 0x82],
    ['a shared subscription with No Local', '82 12 0001 00 000c 2473686172652f672f612f62 04', 0x82],
    ['no filter to unsubscribe', 'a2 03 0001 00', 0x81],
    ['an invalid filter to unsubscribe', 'a2 07 0001 00 0002 2370', 0x81],
  ]
  for (const [what, bytes, code] of cases) {
    const client = await connected(port, { protocolVersion: 5 })
    client.send(bytes)
    assert.equal((await client.next('disconnect')).reasonCode, code, what)
  }
})

test('filters match as the standard specifies', () => {
  const table: [string, string, boolean][] = [
    ['a/b', 'a/b', true],
    ['a/b', 'a', false],
    ['a', 'a/b', false],
    ['+', 'a', true],
    ['+', 'a/b', false],
    ['+/+', '/a', true],
    ['/+', '/a', true],
    ['+', '/a', false],
    ['a/+/c', 'a//c', true],
    ['#', 'a/b/c', true],
    ['a/#', 'a', true],
    ['a/#', 'ab', false],
    ['a/+/#', 'a', false],
    ['#', '$SYS/a', false],
    ['+/a', '$SYS/a', false],
    ['$SYS/#', '$SYS/a', true],
    ['$share/g/a/+', 'a/b', true],
    ['A', 'a', false],
  ]
  for (const [filter, topic, expected] of table) assert.equal(matches(filter, topic), expected, `${filter} ${topic}`)
  for (const filter of ['a', '/', '#', '+', 'a/#', '+/+/#', '$share/g/#', '/+']) assert.ok(isFilter(filter), filter)
  for (const filter of ['', 'a#', '#/a', 'a+', '+a/b', '$share/', '$share/g', '$share/g/', '$share//a', '$share/+/a'])
    assert.ok(!isFilter(filter), filter)
})
