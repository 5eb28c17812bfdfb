import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { longestStallMs } from '../../../../test/harness/thread-time.ts'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'
import { createNumbers } from '../numbers/numbers.ts'

const { api, collect, configure, unregisteredEndpoint, hotRows, waypost, pack, service, points } =
  await openTimeSeries()

suite('collecting samples', () => {
  test('acknowledged samples are stored with times, numbers and other values', async () => {
    const endpoint = await unregisteredEndpoint({
      'time-series': { names: { state: { values: [{ path: 'state' }, { path: 'ok', name: 'ok' }] } } },
    })
    await collect(endpoint, [
      { timestamp: 1000, temperature: 20.5, state: 'a\u0000b\ud800', ok: null },
      { timestamp: 2000, temperature: -1, state: true, ok: false },
    ])
    assert.deepEqual(await hotRows(endpoint), [
      { ts: 1000, values: { 'state/value': 'a\u0000b\ud800', 'state/ok': null, 'auto~temperature/value': 20.5 } },
      { ts: 2000, values: { 'state/value': true, 'state/ok': false, 'auto~temperature/value': -1 } },
    ])
  })

  test('a message is stored completely, or rejected with the invalid sample and field', async () => {
    const endpoint = await unregisteredEndpoint({
      'time-series': { names: { place: { values: [{ path: 'gps.lat', name: 'lat', type: 'number' }] } } },
    })
    await assert.rejects(collect(endpoint, [{ gps: { lat: 1 } }, { gps: { lat: 'north' } }]), {
      status: 400,
      message: 'Sample 2: gps.lat: expected a number, found a string (series place); nothing of the message was stored',
      fields: { '1.gps.lat': ['gps.lat: expected a number, found a string (series place)'] },
    })
    await collect(endpoint, [{ gps: { lat: 1 }, a: 1 }])
    await assert.rejects(collect(endpoint, [{ a: 1 }, JSON.parse('{"a": 1e400}')]), { status: 400 })
    assert.equal((await hotRows(endpoint)).length, 1)
  })

  test('a sample without series is accepted and stores nothing', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [])
    await collect(endpoint, [17, 'text', null, [1], { name: 'x' }])
    assert.deepEqual(await hotRows(endpoint), [])
  })

  test('a changed configuration applies from the next message on', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    await configure(endpoint.applicationName, { 'time-series': { 'auto-extract': false } })
    await collect(endpoint, [{ timestamp: 2, a: 2 }])
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 1]] })
  })

  test('thousands of concurrent messages share a few commits', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ a: 0 }])
    const sent = Array.from({ length: 3000 }, (_, index) => collect(endpoint, [{ timestamp: index, a: index }]))
    assert.ok(new Set(sent).size <= 4)
    await Promise.all(sent)
    assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 3001)
  })

  test('samples without a timestamp in the same millisecond are separate points', async () => {
    const endpoint = await unregisteredEndpoint()
    const receivedAt = new Date('2026-05-01T12:00:00Z')
    const [start, arrive] = [
      receivedAt.getTime(),
      (samples: unknown[]) => api.collect(messageOf(endpoint, receivedAt), samples),
    ]
    // The first message waits for a lookup. The second message has several samples, and some of these samples have timestamps.
    await Promise.all([
      arrive([{ a: 0 }]),
      arrive([{ a: 1 }, { a: 2, timestamp: 5 }, { a: 3, timestamp: 'never' }, { other: 'x' }, { a: 4 }]),
      arrive([{ a: 5, b: 5 }]),
    ])
    await Promise.all([6, 7, 8].map((a) => arrive([{ a }])))
    const times = [0, 1, 3, 4, 5, 6, 7, 8].map((a, index) => [start + index, a])
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [[5, 2], ...times],
      'auto~b/value': [[start + 4, 5]],
    })
    const newest = [...(await service.latest.read([await service.numbers.endpointNo(endpoint)])).values()].flat()
    assert.deepEqual(newest.map(({ timestamp, value }) => [timestamp, value]).sort(), [
      [start + 4, 5],
      [start + 7, 8],
    ])
    await pack()
    assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 9)
  })

  test('all values of a sample without a timestamp have the same time, even if they are stored in several rows', async () => {
    const endpoint = await unregisteredEndpoint()
    const at = new Date('2026-05-01T12:00:00Z')
    const sample = Object.fromEntries(Array.from({ length: 1201 }, (_, index) => [`f${index}`, index]))
    await Promise.all([0, 1, 2].map(() => api.collect(messageOf(endpoint, at), [sample])))
    const stored = await points(endpoint.endpointId)
    for (const [field, value] of Object.entries(sample))
      assert.deepEqual(
        stored[`auto~${field}/value`],
        [0, 1, 2].map((more) => [at.getTime() + more, value]),
      )
  })

  test('the time of arrival of a rejected message is given to the next message of the same millisecond', async () => {
    const endpoint = await unregisteredEndpoint({
      'time-series': { names: { s: { values: [{ path: 's', type: 'string' }] } } },
    })
    const at = new Date('2026-05-01T12:00:00Z')
    await assert.rejects(api.collect(messageOf(endpoint, at), [{ a: 1 }, { s: 1 }]), { status: 400 })
    await api.collect(messageOf(endpoint, at), [{ a: 2 }])
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[at.getTime(), 2]] })
  })

  test('a sample may have any number of fields', async () => {
    const endpoint = await unregisteredEndpoint()
    const sample = Object.fromEntries(Array.from({ length: 1201 }, (_, index) => [`f${(index * 7) % 1201}`, index]))
    for (const timestamp of [1, 2]) await collect(endpoint, [{ timestamp, ...sample }])
    const stored = await points(endpoint.endpointId)
    assert.equal(Object.keys(stored).length, 1201)
    for (const [field, value] of Object.entries(sample))
      assert.deepEqual(stored[`auto~${field}/value`], [
        [1, value],
        [2, value],
      ])
  })

  test('all unknown series and sets of a message are created in one transaction', async () => {
    const endpoint = await unregisteredEndpoint()
    let transactions = 0
    const { db } = waypost.kit
    const counting: typeof db = {
      ...db,
      tx(work) {
        transactions++
        return db.tx(work)
      },
    }
    const lists = Array.from({ length: 2100 }, (_, index) => [`auto~a\nvalue`, `auto~b${index}\nvalue`])
    const numbers = createNumbers(counting, { seriesMax: 5000 })
    const sets = await numbers.allSetsOf(endpoint, lists)
    assert.equal(transactions, 1)
    // There are more combinations than an application may have sets, so the last combinations are stored value by value.
    for (const [index, own] of sets.entries()) {
      assert.equal(own.length, index < 2000 ? 1 : 2)
      assert.deepEqual(own.flatMap(numbers.fieldsOf), lists[index])
      assert.deepEqual(numbers.setsOf(endpoint, lists[index]!), own, 'the sets must be in the cache')
    }
  })

  test('a stream of messages with 90,000 new field names blocks neither the event loop nor the database', async () => {
    const endpoint = await unregisteredEndpoint()
    const fieldsOfMessage = 3000
    const messageWith = (message: number) =>
      Object.fromEntries(
        Array.from({ length: fieldsOfMessage }, (_, n) => [`field${message * fieldsOfMessage + n}`, n]),
      )
    const messages = Array.from({ length: 31 }, (_, message) => messageWith(message))
    // The first message compiles the code.
    await collect(endpoint, [{ timestamp: 1, ...messages.pop() }])
    let stored = 0
    let slowestMs = 0
    const stalls: number[] = []
    for (const message of messages) {
      const began = performance.now()
      stalls.push(
        await longestStallMs(async () => {
          const outcome = await collect(endpoint, [{ timestamp: 1, ...message }]).catch((error) => error)
          if (outcome instanceof Error) assert.match(outcome.message, /the maximum/)
          else stored++
        }),
      )
      slowestMs = Math.max(slowestMs, performance.now() - began)
    }
    assert.ok(stored > 0, 'the first messages must be stored')
    // The three longest stalls do not count, because garbage of other tests may be collected during the test.
    const stallMs = stalls.toSorted((a, b) => b - a)[3]!
    assert.ok(stallMs < 100, `${stallMs} ms`)
    // A message takes 0.1 s if each name is looked up in the index, and 3 to 8 s if each name reads all series of the application.
    assert.ok(slowestMs < 2000, `${slowestMs} ms`)
  })

  test('new series of an application at its limit are rejected, and known series are accepted', async () => {
    const endpoint = await unregisteredEndpoint()
    let transactions = 0
    const tx: typeof waypost.kit.db.tx = (...parameters) => {
      transactions++
      return waypost.kit.db.tx(...parameters)
    }
    const numbers = createNumbers({ ...waypost.kit.db, tx }, { seriesMax: 3 })
    const fields = (...list: string[]) => list.map((name) => `auto~${name}\nvalue`)
    const full = (series: string) => ({
      status: 400,
      message: `Application ${endpoint.applicationName} already has 3 values of series, the maximum, and ${series} would be a further value; nothing was stored`,
    })
    await numbers.setsOf(endpoint, fields('a', 'b'))
    for (let attempt = 0; attempt < 2; attempt++)
      await assert.rejects(async () => numbers.setsOf(endpoint, fields('a', 'd', 'e')), full('auto~e.value'))
    // A message with one new series less does not exceed the limit.
    await numbers.setsOf(endpoint, fields('c'))
    const before = transactions
    for (let attempt = 0; attempt < 3; attempt++)
      await assert.rejects(async () => numbers.setsOf(endpoint, fields('a', 'd')), full('auto~d.value'))
    assert.equal(transactions - before, 1, 'the node must cache for some seconds that the application is at its limit')
    assert.equal((await numbers.setsOf(endpoint, fields('b', 'a')))[0]!.seriesIds.length, 2)
  })
})

suite('putting points', () => {
  test('values of every type are stored, and a later write replaces the value', async () => {
    const endpoint = await unregisteredEndpoint()
    const point = (timestamp: number, values: object) => ({
      endpointId: endpoint.endpointId,
      seriesName: 's',
      timestamp,
      values,
    })
    await api.putPoints(endpoint, [point(1, { a: 1, b: 'x' }), point(2, { b: null, a: true })] as never)
    await api.putPoints(endpoint, [point(1, { a: 5 })] as never)
    assert.deepEqual(await points(endpoint.endpointId), {
      's/a': [
        [1, 5],
        [2, true],
      ],
      's/b': [
        [1, 'x'],
        [2, null],
      ],
    })
    assert.equal((await service.latest.read([await service.numbers.endpointNo(endpoint)])).size, 1)
  })

  test('invalid names and values are rejected with their position, and nothing is stored', async () => {
    const endpoint = await unregisteredEndpoint()
    const wrong: [string, number, object, RegExp][] = [
      ['bad name', 1, { a: 1 }, /^e\.bad name: the name/],
      ['s', 1.5, { a: 1 }, /^e\.s\.timestamp: /],
      ['s', 1, { time: 1 }, /^e\.s\.values\.time: is a reserved name/],
      ['s', 1, { a: {} }, /^e\.s\.values\.a: expected a number, a text/],
      ['s', 1, { a: Number.POSITIVE_INFINITY }, /^e\.s\.values\.a: larger/],
    ]
    for (const [seriesName, timestamp, values, message] of wrong) {
      const good = { endpointId: 'e', seriesName: 's', timestamp: 1, values: { a: 1 } }
      const bad = { endpointId: 'e', seriesName, timestamp, values: values as never }
      await assert.rejects(api.putPoints(endpoint, [good, bad]), { status: 400, message })
    }
    assert.deepEqual(await points('e'), {})
  })
})
