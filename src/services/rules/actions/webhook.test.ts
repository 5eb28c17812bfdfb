/** Tests webhooks with real receivers: the sent requests, wrong results, failures, retries, limits. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { suite, test } from 'node:test'
import { type GivenRun, openActions } from '../../../../test/harness/actions.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { aReceiver, ok } from '../../../../test/harness/webhook-receiver.ts'
import { newId } from '../../../kernel/ids.ts'

const { waypost, run, start, traces, secrets } = await openActions({
  environment: { WAYPOST_WEBHOOK_TIMEOUT_SECONDS: '1' },
  limits: { underWayPerHost: 4, waitingPerTenant: 30 },
})
const { sql } = waypost.kit.db

const post = (url: string, results: Record<string, unknown> = {}, fields: Record<string, unknown> = {}) =>
  run('webhook', { fields: { webhookUrl: url, ...fields }, results })
const attemptsOf = ({ metadata }: { metadata?: Record<string, unknown> }) =>
  metadata!.attempts as { at: string; status?: number; reason?: string; durationMs: number }[]

suite('a webhook', () => {
  test('a webhook is a POST with body, headers and the id of the delivery', async () => {
    const receiver = await aReceiver()
    const outcome = await post(`${receiver.url}/hook?x=1`, {
      headersExpression: { 'X-Room': 'north', 'x-count': 3, 'x-on': true, constructor: 'c' },
      webhookPayloadExpression: { t: 31, texts: ['ü'] },
    })
    assert.equal(outcome.outcome, 'SUCCESS')
    const [{ method, path, headers, body } = {} as never] = receiver.requests
    assert.deepEqual([method, path, body], ['POST', '/hook?x=1', '{"t":31,"texts":["ü"]}'])
    assert.deepEqual(
      [
        headers['content-type'],
        headers['x-room'],
        headers['x-count'],
        headers['x-on'],
        headers['x-waypost-signature'],
        headers.constructor,
      ],
      ['application/json', 'north', '3', 'true', undefined, 'c'],
    )
    assert.equal(headers['x-waypost-delivery'], outcome.metadata!.deliveryId)
    assert.deepEqual(
      attemptsOf(outcome).map(({ status, reason }) => [status, reason]),
      [[200, undefined]],
    )
    assert.equal((await sql`select 1 from rules.deliveries`).length, 0)
    const trace = traces.find(({ outcome: { metadata } }) => metadata!.deliveryId === outcome.metadata!.deliveryId)
    assert.equal(trace!.action.actionType, 'webhook')
  })

  test('a webhook sends text unchanged, an empty body for null, and the Content-Type that its headers name', async () => {
    const receiver = await aReceiver()
    await post(receiver.url, {
      webhookPayloadExpression: 'plain text',
      headersExpression: '{"content-type":"text/plain"}',
    })
    await post(receiver.url, { webhookPayloadExpression: null })
    await post(receiver.url, { webhookPayloadExpression: 0 })
    await post(receiver.url)
    assert.deepEqual(
      receiver.requests.map(({ body, headers }) => [body, headers['content-type']]),
      [
        ['plain text', 'text/plain'],
        ['', 'application/json'],
        ['0', 'application/json'],
        ['', 'application/json'],
      ],
    )
  })

  test('a webhook is signed if the action names a secret, and fails if there is no such secret', async () => {
    const receiver = await aReceiver()
    secrets.set('hooks', 'key of the signature')
    const signed = { signingSecretName: 'hooks' }
    await post(receiver.url, { webhookPayloadExpression: { n: 1 } }, signed)
    const [{ headers, body } = {} as never] = receiver.requests
    const [, seconds, hex] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-waypost-signature']))!
    assert.equal(createHmac('sha256', 'key of the signature').update(`${seconds}.${body}`).digest('hex'), hex)
    assert.ok(Math.abs(Number(seconds) - Date.now() / 1000) < 60)
    const failed = await post(receiver.url, {}, { signingSecretName: 'unknown' })
    assert.deepEqual([failed.outcome, receiver.requests.length], ['FAILURE', 1])
  })

  test('the content of a waiting webhook is sealed in the database', async () => {
    const receiver = await aReceiver(() => {})
    await start('webhook', {
      fields: { webhookUrl: receiver.url, retryConfig: { maxAttempts: 1 } },
      results: { headersExpression: { authorization: 'Bearer very-secret' } },
    })
    const [row] = await sql`select content from rules.deliveries`
    assert.ok(row?.content.startsWith('v2.') && !row.content.includes('very-secret'))
    await eventually(async () => assert.equal((await sql`select 1 from rules.deliveries`).length, 0))
  })

  test('if an event is processed again, its webhook is not sent again', async () => {
    const receiver = await aReceiver()
    const again = { fields: { webhookUrl: receiver.url }, id: newId() }
    const [first, second] = await Promise.all([start('webhook', again), start('webhook', again)])
    assert.ok(first.outcome === 'PENDING' && second.outcome === 'PENDING')
    assert.deepEqual([second.ended, (await first.ended)?.outcome], [undefined, 'SUCCESS'])
    assert.deepEqual(await start('webhook', again), { outcome: 'PENDING' })
    await run('webhook', { ...again, id: newId() })
    assert.equal(receiver.requests.length, 2)
  })

  test('a webhook in a test run is described and not sent', async () => {
    const receiver = await aReceiver()
    const outcome = await run('webhook', {
      fields: { webhookUrl: receiver.url },
      results: { webhookPayloadExpression: { a: 1 } },
      isTry: true,
    })
    assert.deepEqual(outcome, {
      outcome: 'SUCCESS',
      wouldDo: {
        method: 'POST',
        url: `${receiver.url}/`,
        headers: { 'content-type': 'application/json' },
        body: '{"a":1}',
      },
    })
    assert.equal(receiver.connectionCount(), 0)
  })
})

suite('a webhook of a stored event', () => {
  const pending = async (url: string, runInput: GivenRun = {}) => {
    const fields = { webhookUrl: url, ...runInput.fields }
    const outcome = await start('webhook', { storedEvent: 'first', ...runInput, fields })
    assert.ok(outcome.outcome === 'PENDING')
    return outcome
  }
  const rowsOf = (id: string) => sql`select attempts from rules.deliveries where id = ${id}::uuid`
  const statusesOf = (id: string) =>
    traces
      .filter(({ action }) => action.id === id)
      .map(({ outcome }) => attemptsOf(outcome).map(({ status }) => status))

  test('a webhook of a stored event is sent without a row in the database, and is complete when its trace is stored', async () => {
    const receiver = await aReceiver()
    const id = newId()
    const { settled, ended } = await pending(receiver.url, { id })
    await settled
    assert.deepEqual(statusesOf(id), [[200]])
    assert.deepEqual([(await ended)?.outcome, receiver.requests.length], ['SUCCESS', 1])
    assert.equal((await sql`select 1 from rules.effects where key = ${id}::uuid`).length, 0)
    // The node crashes before it stores the end of the event, so the event is processed again.
    assert.deepEqual(await pending(receiver.url, { id, storedEvent: 'again' }), { outcome: 'PENDING' })
    assert.equal(receiver.requests.length, 1)
  })

  test('a webhook of a stored event has a row before it is sent if a repeated run may compute another body', async () => {
    const id = newId()
    const rows: number[] = []
    const receiver = await aReceiver(async (response) => {
      rows.push((await rowsOf(id)).length)
      response.writeHead(204).end()
    })
    const first = await pending(receiver.url, { id, storedEvent: 'varying', results: { webhookPayloadExpression: 1 } })
    assert.equal((await first.ended)?.outcome, 'SUCCESS')
    assert.deepEqual([rows, receiver.requests[0]?.body], [[1], '1'])
  })

  test('the id of a delivery belongs to one body: a repeated run with the same body has the same id, with another body another id', async () => {
    const [receiver, id] = [await aReceiver(), newId()]
    const sent = async (body: number) => {
      const { ended } = await pending(receiver.url, { id, results: { webhookPayloadExpression: body } })
      await ended
      // The test deletes the trace, as if the node had crashed before it stored the trace.
      traces.length = 0
      return receiver.requests.at(-1)!
    }
    const [one, same, other] = [await sent(1), await sent(1), await sent(2)]
    assert.deepEqual([one.body, same.body, other.body], ['1', '1', '2'])
    const [idOfOne, ...ids] = [one, same, other].map(({ headers }) => headers['x-waypost-delivery'])
    assert.deepEqual([ids[0] === idOfOne, ids[1] === idOfOne], [true, false])
  })

  test('a webhook of a stored event gets a row in the database if it takes long, and the row is deleted when it ends', async () => {
    const responses: ServerResponse[] = []
    const receiver = await aReceiver((response) => void responses.push(response))
    const id = newId()
    const { settled, ended } = await pending(receiver.url, { id })
    // A second run of the event waits for the same delivery.
    assert.deepEqual(await pending(receiver.url, { id, storedEvent: 'again' }), { outcome: 'PENDING', settled })
    await settled
    assert.deepEqual([(await rowsOf(id)).length, statusesOf(id)], [1, []])
    responses[0]!.writeHead(204).end()
    assert.equal((await ended)?.outcome, 'SUCCESS')
    assert.deepEqual([(await rowsOf(id)).length, statusesOf(id), receiver.requests.length], [0, [[204]], 1])
  })

  test('a webhook of a stored event gets a row with its attempts if it fails and has attempts left', async () => {
    const receiver = await aReceiver((response) => void response.writeHead(500).end())
    const [id, last] = [newId(), newId()]
    const { settled, ended } = await pending(receiver.url, {
      id,
      fields: { retryConfig: { maxAttempts: 2, timeoutMs: 300 } },
    })
    await settled
    assert.equal((await rowsOf(id)).length, 1)
    receiver.respond = ok
    assert.equal((await ended)?.outcome, 'SUCCESS')
    assert.deepEqual([statusesOf(id), (await rowsOf(id)).length], [[[500, 200]], 0])
    receiver.respond = (response) => void response.writeHead(503).end()
    const single = await pending(receiver.url, { id: last })
    await single.settled
    assert.deepEqual([statusesOf(last), (await single.ended)?.outcome], [[[503]], 'FAILURE'])
  })
})

suite('wrong results', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['an address that is not a text', { webhookUrl: 5 }, /webhookUrl: expected text/],
    ['a malformed address', { webhookUrl: 'hooks' }, /webhookUrl: expected an absolute http/],
    ['an address of another protocol', { webhookUrl: 'ftp://example.org/' }, /webhookUrl: expected an absolute http/],
    ['a password in the address', { webhookUrl: 'http://a:b@example.org/' }, /password/],
    ['headers as array', { headersExpression: ['a'] }, /headersExpression: expected an object/],
    ['headers as number', { headersExpression: 5 }, /headersExpression: expected an object/],
    ['headers as broken JSON', { headersExpression: '{' }, /headersExpression: expected an object/],
    ['a header with a line break', { headersExpression: { a: 'x\r\nx-evil: 1' } }, /value of a/],
    ['a name with a line break', { headersExpression: { 'a\r\nb': 'x' } }, /not the name of a header/],
    ['an empty name', { headersExpression: { '': 'x' } }, /not the name of a header/],
    ['a name with a colon', { headersExpression: { 'a:b': 'x' } }, /not the name of a header/],
    ['a value beyond Latin-1', { headersExpression: { a: '✓' } }, /value of a/],
    ['a value that is an object', { headersExpression: { a: {} } }, /value of a/],
    ['a value that is null', { headersExpression: { a: null } }, /value of a/],
    ['the same header twice', { headersExpression: { a: '1', A: '2' } }, /twice/],
    [
      'too many headers',
      { headersExpression: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`h${n}`, n])) },
      /at most 100/,
    ],
    ['headers that are too long', { headersExpression: { a: 'x'.repeat(20_000) } }, /at most/],
    ...[
      'Host',
      'content-length',
      'Connection',
      'keep-alive',
      'Transfer-Encoding',
      'TE',
      'trailer',
      'Upgrade',
      'proxy-authorization',
      'X-Waypost-Delivery',
      'x-waypost-signature',
    ].map((name): [string, Record<string, unknown>, RegExp] => [
      `the header ${name}`,
      { headersExpression: { [name]: 'x' } },
      /set by the platform/,
    ]),
  ]
  for (const [name, results, reason] of cases)
    test(`a webhook with ${name} fails before anything is sent`, async () => {
      const receiver = await aReceiver()
      const outcome = await run('webhook', { fields: { webhookUrl: receiver.url }, results })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION')
      assert.match(outcome.reason, reason)
      assert.equal(receiver.connectionCount(), 0)
    })

  test('if a script throws, the failure has the stage EXPRESSION_EVALUATION', async () => {
    const outcome = await run('webhook', { failing: { webhookUrl: 'line 1, column 2: no' } })
    assert.deepEqual(outcome, { outcome: 'FAILURE', stage: 'EXPRESSION_EVALUATION', reason: 'line 1, column 2: no' })
  })
})

suite('failures', () => {
  test('failures are retried with growing waits, and the trace lists the attempts', async () => {
    const receiver = await aReceiver()
    receiver.respond = (response) => void response.writeHead([500, 404, 204][receiver.requests.length - 1]!).end()
    const outcome = await post(
      receiver.url,
      {},
      { retryConfig: { maxAttempts: 5, timeoutMs: 100, backoffMultiplier: 3 } },
    )
    assert.equal(outcome.outcome, 'SUCCESS')
    const attempts = attemptsOf(outcome)
    assert.deepEqual(
      attempts.map(({ status, reason }) => [status, reason]),
      [
        [500, 'the receiver answered 500'],
        [404, 'the receiver answered 404'],
        [204, undefined],
      ],
    )
    const waits = attempts.slice(1).map(({ at }, n) => Date.parse(at) - Date.parse(attempts[n]!.at))
    assert.ok(waits[0]! >= 99 && waits[1]! >= 299, String(waits))
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['x-waypost-delivery'])).size, 1)
  })

  test('failures are final after the last attempt; without retryConfig there is one attempt', async () => {
    const receiver = await aReceiver((response) => void response.writeHead(503).end())
    const once = await post(receiver.url)
    assert.deepEqual([once.outcome, receiver.requests.length], ['FAILURE', 1])
    const twice = await post(receiver.url, {}, { retryConfig: { maxAttempts: 2, timeoutMs: 100 } })
    assert.ok(twice.outcome === 'FAILURE' && twice.stage === 'ACTION_EXECUTION')
    assert.match(twice.reason, /answered 503 \(attempt 2\)/)
    assert.equal(receiver.requests.length, 3)
  })

  test('a redirect is a failure and is not followed', async () => {
    const target = await aReceiver()
    const receiver = await aReceiver((response) => void response.writeHead(302, { location: target.url }).end())
    const outcome = await post(receiver.url)
    assert.ok(outcome.outcome === 'FAILURE')
    assert.match(outcome.reason, /302; redirects are not followed/)
    assert.equal(target.connectionCount(), 0)
  })

  test('a receiver that does not respond does not delay webhooks to other receivers', async () => {
    const silent = await aReceiver(() => {})
    const receiver = await aReceiver()
    const began = Date.now()
    const waiting = Promise.all(Array.from({ length: 8 }, () => post(silent.url)))
    await Promise.all(Array.from({ length: 8 }, () => post(receiver.url)))
    assert.ok(Date.now() - began < 900)
    const outcomes = await waiting
    for (const outcome of outcomes) {
      assert.ok(outcome.outcome === 'FAILURE')
      assert.match(outcome.reason, /no response headers within 1 s/)
    }
    assert.ok(silent.underWayMax <= 4)
  })

  test('deliveries fail with a reason while the queue of deliveries is full', async () => {
    const receiver = await aReceiver((response) => void setTimeout(() => ok(response, {} as never, {} as never), 100))
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => post(receiver.url)))
    const failed = outcomes.filter((outcome) => outcome.outcome === 'FAILURE')
    assert.equal(failed.length, 10)
    for (const outcome of failed)
      assert.match(outcome.outcome === 'FAILURE' ? outcome.reason : '', /30 waiting webhooks/)
    assert.ok(receiver.underWayMax <= 4)
    assert.equal(receiver.requests.length, 30)
  })
})

test('loopback and private addresses are rejected, as literals and as names, and are not retried', async () => {
  const guarded = await openActions({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'off' } })
  const retryConfig = { maxAttempts: 3, timeoutMs: 100 }
  for (const webhookUrl of [
    'http://127.0.0.1:9/',
    'http://[::1]/',
    'https://169.254.169.254/',
    'http://localhost/',
    'http://2130706433/',
  ]) {
    const outcome = await guarded.run('webhook', { fields: { webhookUrl, retryConfig } })
    assert.ok(outcome.outcome === 'FAILURE', webhookUrl)
    assert.match(outcome.reason, /loopback or private/)
  }
})
