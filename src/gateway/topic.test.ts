import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import {
  endpointOfFilter,
  filterMatches,
  prefixEnd,
  readTail,
  readTopic,
  requestIdMax,
  tailLevelsMax,
} from './topic.ts'

const whole = (topic: string) => {
  const read = readTopic(topic)
  return typeof read === 'string' ? read : { ...read, ...(readTail(topic, prefixEnd(topic)) as object) }
}
const tail = (rest: string) => readTail(`kp1/v/ext/t${rest}`, 'kp1/v/ext/t'.length)

suite('a topic', () => {
  test('a topic names version, extension, token, resource and request id', () => {
    assert.deepEqual(whole('kp1/app-v1/ext/tok/json/42'), {
      versionName: 'app-v1',
      extension: 'ext',
      token: 'tok',
      prefix: 'kp1/app-v1/ext/tok',
      resourcePath: '/json',
      requestId: 42,
    })
  })

  test('a topic has a request id only if its last level consists of digits; 0 is a request id, but +1, -1 and 1.5 are not', () => {
    const cases: [string, string, number | undefined][] = [
      ['', '', undefined],
      ['/', '/', undefined],
      ['/0', '', 0],
      ['/json', '/json', undefined],
      ['/json/0', '/json', 0],
      ['/json/007', '/json', 7],
      ['/json/99999', '/json', 99999],
      ['/json/-1', '/json/-1', undefined],
      ['/json/1.5', '/json/1.5', undefined],
      ['/json/a1', '/json/a1', undefined],
      ['/json/1a', '/json/1a', undefined],
      ['/json/1/', '/json/1/', undefined],
      ['/json//1', '/json/', 1],
      ['/config/json/name/5', '/config/json/name', 5],
      ['/json/1/status', '/json/1/status', undefined],
      ['/json/٣', '/json/٣', undefined],
      [`/json/${requestIdMax}`, '/json', requestIdMax],
    ]
    for (const [rest, resourcePath, requestId] of cases) assert.deepEqual(tail(rest), { resourcePath, requestId }, rest)
    assert.equal(tail(`/json/${requestIdMax + 1}`), 'request_id_too_large')
    assert.equal(tail(`/json/${'9'.repeat(500)}`), 'request_id_too_large')
  })

  test('a token that consists of digits is not taken for a request id', () => {
    assert.deepEqual(whole('kp1/v/ext/123'), {
      versionName: 'v',
      extension: 'ext',
      token: '123',
      prefix: 'kp1/v/ext/123',
      resourcePath: '',
      requestId: undefined,
    })
  })

  test('parsing an invalid topic returns the reason', () => {
    for (const foreign of ['', '/', 'kp1', '/kp1/v/ext/t', 'KP1/v/ext/t', 'kp2/v/ext/t', 'devices/1', 'kp1x/v/ext/t'])
      assert.equal(whole(foreign), 'foreign', foreign)
    for (const malformed of [
      'kp1/',
      'kp1/v',
      'kp1/v/',
      'kp1/v/ext',
      'kp1/v/ext/',
      'kp1//ext/t',
      'kp1/v//t',
      'kp1/v/ext//json',
    ])
      assert.equal(whole(malformed), 'malformed', malformed)
    assert.equal(readTopic(`kp1/v/ext/${'t'.repeat(3000)}`), 'too_long')
    assert.equal(tail('/a'.repeat(tailLevelsMax + 1)), 'too_deep')
    assert.equal(tail('/'.repeat(tailLevelsMax + 1)), 'too_deep')
    assert.notEqual(tail('/a'.repeat(tailLevelsMax)), 'too_deep')
  })

  test('a topic is parsed like an implementation that splits at every slash', () => {
    const level = fc.string({ unit: fc.constantFrom('a', '1', '0', '-', 'é', ' '), maxLength: 4 })
    fc.assert(
      fc.property(fc.array(level, { minLength: 1, maxLength: 8 }), (levels) => {
        const topic = `kp1/${levels.join('/')}`
        const [versionName, extension, token, ...rest] = levels
        const read = readTopic(topic)
        if (!versionName || !extension || !token) return assert.equal(read, 'malformed')
        assert.deepEqual(read, { versionName, extension, token, prefix: `kp1/${versionName}/${extension}/${token}` })
        const last = rest.at(-1)
        const hasId = last !== undefined && /^[0-9]+$/.test(last)
        const path = hasId ? rest.slice(0, -1) : rest
        assert.deepEqual(readTail(topic, prefixEnd(topic)), {
          resourcePath: path.map((part) => `/${part}`).join(''),
          requestId: hasId ? Number(last) : undefined,
        })
      }),
    )
  })
})

suite('a filter', () => {
  test('a filter matches topics as MQTT specifies', () => {
    const yes = [
      ['a/b', 'a/b'],
      ['#', 'a/b/c'],
      ['a/#', 'a'],
      ['a/#', 'a/b/c'],
      ['+/b', 'a/b'],
      ['a/+/c', 'a//c'],
      ['+/+', 'a/'],
      ['kp1/+/ext/tok/json/#', 'kp1/v/ext/tok/json/1/status'],
      ['kp1/v/ext/tok/command/+/status', 'kp1/v/ext/tok/command/reboot/status'],
    ]
    const no = [
      ['a', 'a/b'],
      ['a/b', 'a'],
      ['a/b', 'a/c'],
      ['+', 'a/b'],
      ['a/+', 'a'],
      ['a/b/#', 'a'],
      ['a/b/c/#', 'a/b'],
      ['kp1/+/ext/tok/json/#', 'kp1/v/ext/other/json'],
    ]
    for (const [filter, topic] of yes) assert.ok(filterMatches(filter!, topic!), `${filter} covers ${topic}`)
    for (const [filter, topic] of no) assert.ok(!filterMatches(filter!, topic!), `${filter} does not cover ${topic}`)
  })

  test('a filter matches like an implementation that splits at every slash', () => {
    const level = fc.constantFrom('a', 'b', '', '+')
    const filters = fc.tuple(fc.array(level, { minLength: 1, maxLength: 4 }), fc.boolean())
    const topics = fc.array(fc.constantFrom('a', 'b', ''), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(filters, topics, ([levels, open], topic) => {
        const expected =
          levels.every((one, index) => index < topic.length && (one === '+' || one === topic[index])) &&
          (open || topic.length === levels.length)
        assert.equal(filterMatches([...levels, ...(open ? ['#'] : [])].join('/'), topic.join('/')), expected)
      }),
    )
  })

  test('a filter names an endpoint when version and token are literal', () => {
    assert.equal(endpointOfFilter('kp1/v/+/tok/#')?.token, 'tok')
    assert.equal(endpointOfFilter('kp1/v/ext/tok/command/+/status')?.versionName, 'v')
    for (const none of ['#', 'kp1/#', 'kp1/+/ext/tok/#', 'kp1/v/ext/+/x', 'kp1/v/ext/#', 'kp1/v/ext', 'x/v/ext/tok'])
      assert.equal(endpointOfFilter(none), undefined, none)
  })
})
