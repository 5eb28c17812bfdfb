import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { clientAddress, type IsProxy, noProxy, readTrustProxy } from './client-address.ts'

const reading = (value: string): IsProxy => {
  const read = readTrustProxy(value)
  assert.ok(typeof read === 'function', String(read))
  return read
}

const from = (peer: string, forwarded?: string) =>
  ({
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

suite('with a number of proxies', () => {
  const cases: [hops: string, forwarded: string | undefined, address: string][] = [
    ['1', undefined, '10.0.0.1'],
    ['1', '', '10.0.0.1'],
    ['1', '192.0.2.1', '192.0.2.1'],
    ['1', '203.0.113.9, 192.0.2.1', '192.0.2.1'],
    ['1', '203.0.113.9,192.0.2.1', '192.0.2.1'],
    ['2', '203.0.113.9, 192.0.2.1, 10.0.0.2', '192.0.2.1'],
    ['2', '192.0.2.1', '192.0.2.1'],
    ['3', '203.0.113.9, 192.0.2.1, 10.0.0.3, 10.0.0.2', '192.0.2.1'],
    ['1', '192.0.2.1:4711', '192.0.2.1'],
    ['1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['1', '[2001:db8::1]', '2001:db8::1'],
    ['1', '2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['1', '::ffff:192.0.2.1', '192.0.2.1'],
    ['1', '::FFFF:c000:0201', '192.0.2.1'],
    ['1', '[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['1', 'fe80::1%eth0', 'fe80::1'],
    // An entry that is not an address is ignored, and the address of the client is then the address of the proxy that sent the entry.
    ['1', 'unknown', '10.0.0.1'],
    ['1', '192.0.2.1, unknown', '10.0.0.1'],
    ['1', '192.0.2.1,', '10.0.0.1'],
    ['1', '192.0.2.999', '10.0.0.1'],
    ['1', '192.0.2.1:99999999', '10.0.0.1'],
    ['1', '[192.0.2.1]', '10.0.0.1'],
    ['1', '0x7f.1', '10.0.0.1'],
    ['1', '_hidden', '10.0.0.1'],
    ['2', 'x, 10.0.0.2', '10.0.0.2'],
    ['2', '203.0.113.9, <script>, 10.0.0.2', '10.0.0.2'],
  ]
  for (const [hops, forwarded, address] of cases)
    test(`with ${hops} proxies, the header ${forwarded ?? '(absent)'} gives the address ${address}`, () =>
      assert.equal(clientAddress(from('10.0.0.1', forwarded), reading(hops)), address))
})

suite('with the networks of the proxies', () => {
  const isProxy = reading('10.0.0.0/8, 192.168.1.1 ,fd00::/8')
  const cases: [peer: string, forwarded: string | undefined, address: string][] = [
    ['192.0.2.7', '198.51.100.1', '192.0.2.7'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['fd12::1', '198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '203.0.113.9, 198.51.100.1, 10.9.9.9, 192.168.1.1', '198.51.100.1'],
    ['10.1.2.3', '198.51.100.1, 192.168.1.2', '192.168.1.2'],
    ['10.1.2.3', '198.51.100.1, ::ffff:10.0.0.9', '198.51.100.1'],
    ['10.1.2.3', '10.0.0.4, 10.0.0.5', '10.0.0.4'],
    ['10.1.2.3', '198.51.100.1, unknown, 10.0.0.5', '10.0.0.5'],
  ]
  for (const [peer, forwarded, address] of cases)
    test(`a request from ${peer} with the header ${forwarded} has the address ${address}`, () =>
      assert.equal(clientAddress(from(peer, forwarded), isProxy), address))

  test('of a long chain of trusted proxies, at most sixteen entries are read', () => {
    const chain = Array.from({ length: 1000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`).join(', ')
    assert.equal(clientAddress(from('10.1.2.3', chain), isProxy), '10.0.3.216')
  })
})

test('without a trusted proxy the header is ignored', () => {
  assert.equal(clientAddress(from('::ffff:192.0.2.7', '198.51.100.1'), noProxy), '192.0.2.7')
  assert.equal(reading('off'), noProxy)
})

test('forged entries of the client never change its address', () => {
  const entry = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string({ maxLength: 20 }),
    fc.constantFrom('', ' ', '10.0.0.9', '[', ':1'),
  )
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), (forged) => {
      // The proxy has appended the address from which the client connected.
      const forwarded = [...forged, '198.51.100.1'].join(',')
      for (const trust of ['1', '10.0.0.0/8'])
        assert.equal(clientAddress(from('10.0.0.1', forwarded), reading(trust)), '198.51.100.1')
      const twice = [...forged, '198.51.100.1', '10.0.0.2'].join(', ')
      for (const trust of ['2', '10.0.0.0/8'])
        assert.equal(clientAddress(from('10.0.0.1', twice), reading(trust)), '198.51.100.1')
    }),
  )
})

for (const wrong of [
  'yes',
  '0',
  '17',
  '-1',
  '1.5',
  '10.0.0.0/33',
  '10.0.0.0/0',
  '::/0',
  'fd00::/129',
  '10.0.0.0/',
  '10.0.0/8',
  '1,2',
  '10.0.0.0/8/8',
  '10.0.0.0/8,',
  'proxy.example',
  'fe80::1%eth0',
  ' ',
])
  test(`the setting ${JSON.stringify(wrong)} is rejected`, () =>
    assert.match(String(readTrustProxy(wrong)), /^off, the number of proxies in front \(1 to 16\), or their networks/))
