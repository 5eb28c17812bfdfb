import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { addressProblem, isPrivateAddress, safeFetch } from './safe-fetch.ts'

const privateOnes = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '[::1]',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.1.2.3',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:c0a8:101::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'not an address',
]
const publicOnes = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
]

test('loopback, private, link-local and metadata addresses are recognised in every spelling', () => {
  for (const address of privateOnes) assert.equal(isPrivateAddress(address), true, address)
  for (const address of publicOnes) assert.equal(isPrivateAddress(address), false, address)
})

const problems: [address: string, problem: RegExp | undefined][] = [
  ['https://example.com/path?query', undefined],
  ['https://8.8.8.8:8443', undefined],
  ['http://example.com', /https/],
  ['ftp://example.com', /absolute http/],
  ['file:///etc/passwd', /absolute http/],
  ['example.com', /absolute http/],
  ['', /absolute http/],
  ['https://user:secret@example.com', /password/],
  ['https://127.0.0.1', /loopback or private/],
  ['https://127.1', /loopback or private/],
  ['https://2130706433', /loopback or private/],
  ['https://0x7f.1', /loopback or private/],
  ['https://0177.0.0.1', /loopback or private/],
  ['https://[::ffff:127.0.0.1]', /loopback or private/],
  ['https://localhost', /loopback or private/],
  ['https://LOCALHOST.', /loopback or private/],
  ['https://metadata.google.internal', /loopback or private/],
]

test('problems of an address are reported before it is called', () => {
  for (const [address, problem] of problems) {
    const found = addressProblem(address, { allowPrivate: false })
    if (problem) assert.match(found ?? '', problem, address)
    else assert.equal(found, undefined, address)
  }
  assert.equal(addressProblem('http://127.0.0.1', { allowPrivate: true }), undefined)
  assert.equal(addressProblem('http://example.com', { allowPrivate: false, allowHttp: true }), undefined)
})

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('the request is sent and the response returned unchanged', async () => {
  const port = await serve(async (request, response) => {
    const body = (await request.toArray()).join('')
    response.writeHead(201, { 'x-received': 'yes' }).end(`${request.method} ${request.headers.host} ${body}`)
  })
  const answer = await safeFetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'hello', allowPrivate: true })
  assert.equal(answer.status, 201)
  assert.equal(answer.headers.get('x-received'), 'yes')
  assert.equal(await answer.text(), `POST 127.0.0.1:${port} hello`)
})

test('a name is resolved once, and the connection goes to the checked address', async () => {
  const port = await serve((request, response) => response.end(request.headers.host))
  let lookups = 0
  const lookup = async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '192.0.2.1', family: 4 }]
  const answer = await safeFetch(`http://rebinding.test:${port}/`, { allowPrivate: true, lookup })
  assert.equal(await answer.text(), `rebinding.test:${port}`)
  assert.equal(lookups, 1)
})

test('a name that resolves to several addresses is rejected if one of them is private', async () => {
  const bad = { address: '169.254.169.254', family: 4 }
  const good = { address: '8.8.8.8', family: 4 }
  for (const found of [[bad], [good, bad], [{ address: '::ffff:a00:1', family: 6 }]])
    await assert.rejects(
      safeFetch('https://innocent.test/', { allowPrivate: false, lookup: async () => found }),
      /RefusedAddress/,
    )
})

test('a redirect is returned and not followed', async () => {
  const port = await serve((_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end())
  const answer = await safeFetch(`http://127.0.0.1:${port}/`, { allowPrivate: true })
  assert.equal(answer.status, 302)
})

test('a request fails if its response is too large', async () => {
  const port = await serve((_, response) => response.end('x'.repeat(5000)))
  const options = { allowPrivate: true, maxBytes: 4999 }
  await assert.rejects(safeFetch(`http://127.0.0.1:${port}/`, options), /more than 4999 bytes/)
})

test('a request fails if its response takes too long, even if the response arrives byte by byte', async () => {
  const port = await serve((_, response) => {
    const timer = setInterval(() => response.write('x'), 10)
    response.on('close', () => clearInterval(timer))
  })
  const options = { allowPrivate: true, timeoutMs: 80 }
  await assert.rejects(safeFetch(`http://127.0.0.1:${port}/`, options), { name: /TimeoutError|AbortError/ })
  const never = () => new Promise<never>(() => {})
  await assert.rejects(safeFetch('http://slow.test/', { ...options, lookup: never }), { name: 'TimeoutError' })
})
