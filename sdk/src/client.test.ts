/** Tests the client with servers that misbehave: which requests are repeated, and which responses become values or errors. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { afterAllTests } from '../../test/harness/database.ts'
import { type ClientOptions, createClient, WaypostError } from './index.ts'

type Answer = (request: IncomingMessage & { text: string }, response: ServerResponse) => unknown

/** Starts a server that sends these responses one after the other, and the last response for all further requests. */
async function aServer(...answers: Answer[]) {
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; text: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const answer = answers[Math.min(requests.length, answers.length - 1)]!
    requests.push({ method: request.method!, url: request.url!, headers: request.headers, text })
    await answer(Object.assign(request, { text }), response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const open = (options: Partial<ClientOptions> = {}) => createClient({ url, auth: { apiKey: 'key' }, ...options })
  return { url, requests, client: open(), open }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
const empty =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end()
const cut: Answer = (request) => request.socket.destroy()
const cutInBody: Answer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"endpointId": ')
  setTimeout(() => request.socket.destroy(), 10)
}
const silence: Answer = () => {}

const failureOf = async (work: Promise<unknown>): Promise<WaypostError> => {
  const error = await work.then(
    () => assert.fail('it succeeded'),
    (thrown) => thrown,
  )
  assert.ok(error instanceof WaypostError, String(error))
  return error
}
const endpoint = { endpointId: 'thermo-1' }
const read = json(200, endpoint, { etag: '"1"' })

suite('retries', () => {
  const broken = { 'a broken connection': cut, 'a response that breaks off': cutInBody }
  for (const [what, answer] of Object.entries({ ...broken, 429: empty(429), 503: empty(503), 504: empty(504) }))
    test(`a read is repeated after ${what}`, async () => {
      const { client, requests } = await aServer(answer, answer, read)
      const { body, attempts } = await client.endpoints.get(endpoint)
      assert.equal(body.endpointId, 'thermo-1')
      assert.deepEqual([attempts, requests.length], [3, 3])
    })

  for (const [what, answer] of Object.entries({ ...broken, 503: empty(503), 504: empty(504) }))
    test(`a write that may have arrived is not repeated after ${what}`, async () => {
      const { client, requests } = await aServer(answer, json(201, endpoint))
      await failureOf(client.endpoints.create({ body: { appVersion: { name: 'a-v1' } } }))
      assert.equal(requests.length, 1)
    })

  test('a write that was rejected with 429 is repeated, because nothing was done', async () => {
    const { client, requests } = await aServer(empty(429), json(201, { ...endpoint, token: 't' }))
    await client.endpoints.create({ body: { appVersion: { name: 'a-v1' } } })
    assert.equal(requests.length, 2)
  })

  test('a write is repeated with If-Match, with If-None-Match, or if the caller declares it repeatable', async () => {
    for (const options of [{ ifMatch: '"1"' }, { ifNoneMatch: '*' }, { repeatable: true }]) {
      const { client, requests } = await aServer(cut, empty(204))
      await client.assets.update({ assetId: 'a', body: { definition: '{}' } }, options)
      assert.equal(requests.length, 2, JSON.stringify(options))
    }
  })

  test('a write with If-Match: * is not repeated, because the condition holds for every version', async () => {
    const { client, requests } = await aServer(cut, empty(204))
    await failureOf(client.assets.update({ assetId: 'a', body: { definition: '{}' } }, { ifMatch: '*' }))
    assert.equal(requests.length, 1)
  })

  test('a write is repeated while the server is unreachable, because nothing was sent', async () => {
    const { url } = await aServer(empty(204))
    let calls = 0
    const refused = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })
    const client = createClient({
      url,
      auth: { apiKey: 'key' },
      fetch: (input, init) => (++calls < 3 ? Promise.reject(refused) : fetch(input, init)),
    })
    await client.assets.delete({ assetId: 'a' })
    assert.equal(calls, 3)
  })

  test('after a response with Retry-After, the next attempt starts after the given number of seconds', async () => {
    const { client } = await aServer(empty(503, { 'retry-after': '1' }), read)
    const start = performance.now()
    await client.endpoints.get(endpoint)
    assert.ok(performance.now() - start >= 1000)
  })

  test('a Retry-After beyond the time limit ends the call immediately', async () => {
    const { client, requests } = await aServer(empty(503, { 'retry-after': '3600' }))
    const error = await failureOf(client.endpoints.get(endpoint))
    assert.deepEqual([error.status, error.retryAfterSeconds, requests.length], [503, 3600, 1])
  })

  test('an attempt that gets no response ends at its time limit, and a read is repeated', async () => {
    const { open } = await aServer(silence, read)
    const { attempts } = await open({ attemptTimeoutMs: 100 }).endpoints.get(endpoint)
    assert.equal(attempts, 2)
  })

  test('the time limit of the call ends all attempts', async () => {
    const { open } = await aServer(silence)
    const error = await failureOf(open({ timeoutMs: 150 }).endpoints.get(endpoint))
    assert.equal(error.code, 'timeout')
  })

  test('each of several simultaneous calls ends at its own time limit', async () => {
    const { open } = await aServer(silence)
    const client = open()
    const start = performance.now()
    const ended: number[] = []
    const end = async (timeoutMs: number) => {
      const { code } = await failureOf(client.endpoints.get(endpoint, { timeoutMs }))
      assert.equal(code, 'timeout')
      assert.ok(performance.now() - start >= timeoutMs - 5, `${timeoutMs} ms`)
      ended.push(timeoutMs)
    }
    await Promise.all([600, 200, 400].map(end))
    assert.deepEqual(ended, [200, 400, 600])
  })

  test('a program ends when its last call has ended, without waiting for a time limit', async () => {
    const { url } = await aServer(read)
    const program = `
      import { createClient } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
      const client = createClient({ url: ${JSON.stringify(url)}, auth: { apiKey: 'key' } })
      for (let n = 0; n < 3; n++) await client.endpoints.get({ endpointId: 'thermo-1' }, { timeoutMs: 30_000 })`
    const start = performance.now()
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    assert.ok(performance.now() - start < 15_000)
  })

  test('a call ends at its time limit even if nothing else keeps the program running', async () => {
    const { url } = await aServer(silence)
    const program = `
      import { createClient } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
      const never = (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      for (const fetch of [undefined, never]) {
        const client = createClient({ url: ${JSON.stringify(url)}, fetch })
        const { code } = await client.me.get({}, { timeoutMs: 50 }).catch((error) => error)
        console.log(code)
      }`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    assert.equal(stdout, 'timeout\ntimeout\n')
  })

  test('a signal ends the call, even between attempts', async () => {
    const { client, requests } = await aServer(empty(503, { 'retry-after': '30' }))
    const controller = new AbortController()
    const call = failureOf(client.endpoints.get(endpoint, { signal: controller.signal }))
    while (requests.length === 0) await new Promise((done) => setTimeout(done, 5))
    controller.abort(new Error('enough'))
    assert.equal((await call).code, 'aborted')
  })
})

suite('responses', () => {
  test('a read returns the ETag, and a 304 is returned instead of thrown', async () => {
    const { client, requests } = await aServer(read, empty(304, { etag: '"1"' }))
    const { etag } = await client.endpoints.get(endpoint)
    assert.equal(etag, '"1"')
    const again = await client.endpoints.get(endpoint, { ifNoneMatch: etag! })
    assert.equal(again.status, 304)
    assert.equal(requests[1]!.headers['if-none-match'], '"1"')
  })

  test('a write with ifMatch sends If-Match, and a 412 is returned instead of thrown', async () => {
    const { client, requests } = await aServer(json(412, { message: 'changed' }))
    const answer = await client.assets.update({ assetId: 'a', body: { definition: '{}' } }, { ifMatch: '"1"' })
    assert.equal(answer.status, 412)
    assert.equal(requests[0]!.headers['if-match'], '"1"')
  })

  test('if a write without ifMatch gets a 412, the error is thrown', async () => {
    const { client } = await aServer(json(412, { message: 'changed' }))
    const error = await failureOf(client.assets.update({ assetId: 'a', body: { definition: '{}' } }))
    assert.deepEqual([error.status, error.message], [412, 'changed'])
  })

  test('an error has status, code, message, field, correlation id and operation', async () => {
    const headers = { 'x-waypost-error': 'invalid_request', 'x-waypost-field': 'a%20b', 'x-correlation-id': 'c-1' }
    const { client } = await aServer(json(400, { message: 'a b: wrong' }, headers))
    const { status, code, message, field, correlationId, operation } = await failureOf(client.me.get())
    assert.deepEqual(
      [status, code, message, field, correlationId, operation],
      [400, 'invalid_request', 'a b: wrong', 'a b', 'c-1', 'me.get'],
    )
  })

  test('the error of a response without a body is a whole sentence', async () => {
    const { open } = await aServer(empty(429))
    const { message } = await failureOf(open({ attempts: 1 }).me.get())
    assert.equal(message, 'me.get failed with status 429')
  })

  const strange: Record<string, Answer> = {
    'HTML instead of JSON': (_, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<html>\u001b[31m'),
    'a web page with the status 200': (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>\u001b[31m'),
    'half of a JSON': (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
    'another shape': json(200, { items: 5 }),
    'a field name that is not encoded well': json(400, { message: 'x' }, { 'x-waypost-field': '%E0%A4%A' }),
  }
  for (const [what, answer] of Object.entries(strange))
    test(`${what} is an error with a message of one line`, async () => {
      const { open } = await aServer(answer)
      const { message } = await failureOf(open({ attempts: 1 }).endpoints.list().page())
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the message must not contain control characters
      assert.doesNotMatch(message, /[\u0000-\u001f]/)
    })

  test('a server without TLS at an https address is an error that says so in one line', async () => {
    const { url, open } = await aServer(read)
    const { message } = await failureOf(open({ url: url.replace('http:', 'https:'), attempts: 1 }).me.get())
    assert.match(message, /is not reachable: the server does not use TLS \(https\)$/)
  })

  test('a redirect is not followed, and nothing is sent to its target', async () => {
    const other = await aServer(read)
    for (const status of [301, 302, 303, 307, 308]) {
      const { client } = await aServer(empty(status, { location: `${other.url}/elsewhere` }))
      const error = await failureOf(client.endpoints.create({ body: { appVersion: { name: 'a-v1' } } }))
      assert.equal(error.code, 'redirected')
      assert.match(error.message, /elsewhere/)
    }
    assert.equal(other.requests.length, 0)
  })
})

suite('arguments', () => {
  test('parameters are encoded, lists are repeated, and undefined is left out', async () => {
    const { client, requests } = await aServer(json(200, { totalElements: 0, content: [] }))
    await client.endpoints.list({ endpointId: ['a&b', 'c/d'], regex: undefined, limit: 5 }).page()
    assert.equal(requests[0]!.url, '/epr/api/v1/endpoints?endpointId=a%26b&endpointId=c%2Fd&limit=5&cursor=')
  })

  for (const endpointId of ['', '.', '..'])
    test(`the id ${JSON.stringify(endpointId)} would change the path of the request, so nothing is sent`, async () => {
      const { client, requests } = await aServer(read)
      const error = await failureOf(client.endpoints.get({ endpointId }))
      assert.deepEqual([error.code, error.field, requests.length], ['invalid_argument', 'endpointId', 0])
    })

  test('for arguments that cannot be sent, the error names the argument, and nothing is sent', async () => {
    const { client, open, requests } = await aServer(read)
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const calls: [field: string, call: () => Promise<unknown>][] = [
      ['body', () => client.call('applications.create', { body: circular })],
      ['body', () => client.call('applications.create', { body: { name: 1n } })],
      [
        'body',
        () =>
          client.call('files.upload', {
            filename: 'a',
            'X-Auth-Token': 't',
            body: () => Promise.reject(new Error('gone')),
          }),
      ],
      ['ifNoneMatch', () => client.endpoints.get(endpoint, { ifNoneMatch: 'a\nb' })],
      ['correlationId', () => client.endpoints.get(endpoint, { correlationId: '\u20ac' })],
      ['endpointId', () => client.call('endpoints.get', { endpointId: {} })],
      ['endpointId', () => client.call('endpoints.get', null as never)],
      ['auth', () => open({ auth: () => 'secret\ntoken' }).me.get()],
      ['auth', () => open({ auth: () => undefined as never }).me.get()],
    ]
    for (const [field, call] of calls) {
      const error = await failureOf(call())
      assert.deepEqual([error.code, error.field], ['invalid_argument', field], error.message)
      assert.ok(!error.message.includes('secret'), error.message)
    }
    assert.equal(requests.length, 0)
  })

  test('half of a surrogate pair, which no address can contain, is an error that names the argument', async () => {
    const { client, requests } = await aServer(read)
    const errors = [
      await failureOf(client.endpoints.get({ endpointId: 'a\ud800' })),
      await failureOf(client.endpoints.list({ regex: '\udc00' }).page()),
    ]
    assert.deepEqual(
      errors.map(({ code, field }) => [code, field]),
      [
        ['invalid_argument', 'endpointId'],
        ['invalid_argument', 'regex'],
      ],
    )
    assert.equal(requests.length, 0)
  })

  test('an id with slashes stays one segment', async () => {
    const { client, requests } = await aServer(read)
    await client.endpoints.get({ endpointId: '../../a?b#c' })
    assert.equal(requests[0]!.url, '/epr/api/v1/endpoints/..%2F..%2Fa%3Fb%23c')
  })

  test('an API key that no header can contain is rejected, and the message does not contain the key', () => {
    for (const apiKey of ['', 'two words', 'line\nbreak', 'k\u00e9y', 'esc\u001b[31m'])
      assert.throws(
        () => createClient({ url: 'http://127.0.0.1:1', auth: { apiKey } }),
        ({ code, field, message }: WaypostError) =>
          code === 'invalid_argument' && field === 'auth' && (apiKey === '' || !message.includes(apiKey)),
      )
  })

  test('an address with credentials, a query or another protocol is rejected', () => {
    for (const url of ['http://a:b@host', 'http://host/?a', 'ftp://host', 'host', ''])
      assert.throws(() => createClient({ url }), { code: 'invalid_argument', field: 'url' }, url)
  })
})

suite('lists', () => {
  const items = Array.from({ length: 25 }, (_, index) => ({ endpointId: `e-${index}` }))
  const offsetPages: Answer = ({ url }, response) => {
    const query = new URL(url!, 'http://host').searchParams
    const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 100)]
    return json(200, { totalElements: items.length, content: items.slice(offset, offset + limit) })(
      { url } as never,
      response,
    )
  }
  const cursorPages =
    (all: unknown[]): Answer =>
    ({ url }, response) => {
      const query = new URL(url!, 'http://host').searchParams
      const [at, limit] = [Number(query.get('cursor') || query.get('offset')), Number(query.get('limit') ?? 100)]
      const content = all.slice(at, at + limit)
      const more = at + limit < all.length && { nextCursor: String(at + limit) }
      return json(200, { totalElements: all.length, content, ...more })({ url } as never, response)
    }
  const numberedPages: Answer = ({ url }, response) => {
    const query = new URL(url!, 'http://host').searchParams
    const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('pageSize') ?? 100)]
    const data = items.slice((page - 1) * size, page * size)
    return json(200, { data, count: items.length, page, pageSize: size, server: {} })({ url } as never, response)
  }
  const sizes = (requests: { url: string }[]) => requests.map(({ url }) => url.split('?')[1] ?? '')

  test('a list requests nothing before it is used', async () => {
    const { client, requests } = await aServer(cursorPages(items))
    client.endpoints.list({ limit: 10 })
    assert.equal(requests.length, 0)
  })

  test('all pages are read one after the other, in the size that the caller chose', async () => {
    const { client, requests } = await aServer(offsetPages)
    const ids: string[] = []
    for await (const { id } of client.users.list({ limit: 10 })) ids.push(id)
    assert.equal(ids.length, 25)
    assert.deepEqual(sizes(requests), ['limit=10', 'limit=10&offset=10', 'limit=10&offset=20'])
  })

  test('a loop that stops requests no further page', async () => {
    const { client, requests } = await aServer(cursorPages(items))
    let read = 0
    for await (const _ of client.endpoints.list({ limit: 10 })) if (++read === 10) break
    assert.equal(requests.length, 1)
  })

  test('`take` requests no more items than it needs', async () => {
    const { client, requests } = await aServer(offsetPages)
    const ids: string[] = []
    for await (const { id } of client.users.list({ limit: 10 }).take(13)) ids.push(id)
    for await (const { id } of client.users.list().take(5)) ids.push(id)
    assert.equal(ids.length, 18)
    assert.deepEqual(sizes(requests), ['limit=10', 'limit=3&offset=10', 'limit=5'])
  })

  test('a list with a cursor is read with the cursor, and the first request has an empty cursor', async () => {
    const { client, requests } = await aServer(cursorPages(items))
    const ids: string[] = []
    for await (const { endpointId } of client.endpoints.list({ offset: 3, limit: 10 }).take(13)) ids.push(endpointId)
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [13, 'e-3', 'e-15'])
    const body = 'offset=3&limit=10&cursor='
    assert.deepEqual(sizes(requests), [body, 'offset=3&limit=3&cursor=13'])
  })

  test('the pages of a long list grow, whether it has cursors or numbers, and no item is read twice', async () => {
    const many = Array.from({ length: 5000 }, (_, index) => ({ endpointId: `e-${index}` }))
    const { client, requests } = await aServer(cursorPages(many))
    let read = 0
    for await (const { endpointId } of client.endpoints.list()) assert.equal(endpointId, `e-${read++}`)
    const limitOf = ({ url }: { url: string }) => Number(new URL(url, 'http://host').searchParams.get('limit'))
    assert.deepEqual([read, requests.map(limitOf)], [5000, [100, 200, 400, 800, 1000, 1000, 1000, 1000]])

    const numbered: Answer = ({ url }, response) => {
      const query = new URL(url!, 'http://host').searchParams
      const [page, size] = [Number(query.get('page')), Number(query.get('size'))]
      const content = many.slice(page * size, (page + 1) * size)
      return json(200, { totalElements: many.length, content })({ url } as never, response)
    }
    const other = await aServer(numbered)
    const ids: unknown[] = []
    for await (const asset of other.client.list<{ endpointId: string }>('assets.list')) ids.push(asset.endpointId)
    assert.deepEqual(
      ids,
      many.map(({ endpointId }) => endpointId),
    )
    assert.ok(other.requests.length <= 10, sizes(other.requests).join(' '))
  })

  test('a list whose first page has the number 1 is read completely, and only as far as take() asks', async () => {
    const { client } = await aServer(numberedPages)
    const ids: unknown[] = []
    for await (const one of client.vpnClients.list({ pageSize: 10 })) ids.push(one)
    assert.equal(ids.length, 25)
    let taken = 0
    for await (const _ of client.vpnClients.list({ pageSize: 10 }).take(13)) taken++
    assert.equal(taken, 13)
  })

  test('reading the total requests one item, or nothing if a page was read before', async () => {
    const { client, requests } = await aServer(cursorPages(items))
    assert.equal(await client.endpoints.list().total, 25)
    assert.deepEqual(sizes(requests), ['cursor=&limit=1'])
    const list = client.endpoints.list()
    const page = await list.page()
    assert.deepEqual([page.items.length, page.total, await list.total, requests.length], [25, 25, 25, 2])
    assert.equal(await page.next(), undefined)
  })

  test('a page that still has the ETag of the caller is returned with the status 304', async () => {
    const { client } = await aServer(empty(304, { etag: '"p"' }))
    assert.equal((await client.endpoints.list().page({ ifNoneMatch: '"p"' })).status, 304)
  })

  test('if the caller leaves a loop over an endless list, no further pages are read', async () => {
    const { client, requests } = await aServer(json(200, { totalElements: 1e9, content: items }))
    let read = 0
    for await (const _ of client.users.list({ limit: 25 })) if (++read === 60) break
    assert.equal(requests.length, 3)
  })
})
