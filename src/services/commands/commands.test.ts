/** Tests commands over the HTTP API, with devices over real MQTT and HTTP. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { monotonicMs, sleep } from '../../kernel/clock.ts'
import commandService from './index.ts'

const environment = { WAYPOST_COMMAND_AWAIT_SECONDS: '7' }
const fixture = await openGateway({ services: [...services, commandService], environment })
const { waypost, admin, other, device, anApplication, anEndpoint, httpUrl } = fixture
const { sql } = waypost.kit.db
const root = '/cex/api/v1'

/** Creates an endpoint of the version. Without a version, it creates a new application with a version first. */
async function aTestEndpoint(version?: string) {
  const application = version === undefined ? await anApplication() : { app: version.slice(0, -3), version }
  const { endpointId, token } = await anEndpoint(application.version)
  const topic = `kp1/${application.version}/cex/${token}`
  const path = `${root}/endpoints/${endpointId}/commands`
  const post = async (resource: string, payload: unknown = '') => {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
    const answer = await fetch(`${httpUrl}/${topic}${resource}`, { method: 'POST', body })
    const text = await answer.text()
    return [answer.status, text === '' ? '' : JSON.parse(text)]
  }
  return { ...application, endpointId, token, topic, path, post }
}
type TestEndpoint = Awaited<ReturnType<typeof aTestEndpoint>>

async function aConnectedTestEndpoint() {
  const testEndpoint = await aTestEndpoint()
  const sensor = await device()
  await sensor.publish(`${testEndpoint.topic}/command/none/1`)
  await sensor.receives(`${testEndpoint.topic}/command/none/1/status`)
  return { ...testEndpoint, sensor }
}

const invoke = async (
  { path }: Pick<TestEndpoint, 'path'>,
  type = 'reboot',
  query = 'awaitTimeout=0',
  body?: unknown,
) => {
  const answer = await admin(`POST ${path}/${type}?${query}`, body)
  assert.ok([200, 202].includes(answer.status), answer.text)
  return Number(String(answer.headers.location).split('/').at(-1))
}
const get = async ({ path }: Pick<TestEndpoint, 'path'>, id: number, type = 'reboot') =>
  (await admin(`GET ${path}/${type}/${id}`)).body
/** Moves all times of the commands of an endpoint into the past, as if this number of milliseconds had passed. */
const passTime = ({ endpointId }: Pick<TestEndpoint, 'endpointId'>, ms: number) => sql`
  update commands.commands set created_at = created_at - ${ms} * interval '1 millisecond',
    ends_at = ends_at - ${ms} * interval '1 millisecond' where endpoint_id = ${endpointId}`

suite('an invocation', () => {
  test('an invocation returns the result that the device sends, and the address of the command', async () => {
    const testEndpoint = await aConnectedTestEndpoint()
    const { sensor, topic, path, endpointId } = testEndpoint
    const waiting = admin(`POST ${path}/blink`, { times: 3 })
    const [command] = (await sensor.receives(`${topic}/command/blink/status`)).json
    assert.deepEqual(command, { id: 1, payload: { times: 3 } })
    const result = { id: 1, statusCode: 503, reasonPhrase: 'no bulb', payload: ['tried', { n: 1 }] }
    await sensor.publish(`${topic}/result/blink/9`, [result])
    const answer = await waiting
    assert.deepEqual([answer.status, answer.body], [200, ['tried', { n: 1 }]])
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.equal(answer.headers.location, `${waypost.baseUrl}${path}/blink/1`)
    assert.equal((await sensor.receives(`${topic}/result/blink/9/status`)).text, '')
    const { createdAt, updatedAt, ...command2 } = await get(testEndpoint, 1, 'blink')
    assert.deepEqual(command2, {
      commandId: 1,
      commandType: 'blink',
      endpointId,
      status: 'EXECUTED',
      statusCode: 503,
      reasonPhrase: 'no bulb',
      requestPayload: { times: 3 },
      responsePayload: ['tried', { n: 1 }],
    })
    assert.ok(Date.parse(updatedAt) >= Date.parse(createdAt))
    await sensor.receivesNothing(50)
  })

  test('a command or result without payload has no payload in any response', async () => {
    const testEndpoint = await aConnectedTestEndpoint()
    const { sensor, topic, path } = testEndpoint
    const waiting = admin(`POST ${path}/reboot?awaitTimeout=5`)
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: 1 }])
    await sensor.publish(`${topic}/result/reboot`, [{ id: 1, statusCode: 200 }])
    const answer = await waiting
    assert.deepEqual([answer.status, answer.text, answer.headers['content-type']], [200, '', undefined])
    const command = await get(testEndpoint, 1)
    assert.ok(!('requestPayload' in command) && !('responsePayload' in command) && !('reasonPhrase' in command))
    // A command with the payload null is different from a command without payload.
    await invoke(testEndpoint, 'reboot', 'awaitTimeout=0', 'null')
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: 2, payload: null }])
    assert.equal(
      (await admin(`POST ${path}/reboot?awaitTimeout=0`, 'null', { 'content-type': 'application/json' })).status,
      202,
    )
    assert.equal((await get(testEndpoint, 2)).requestPayload, null)
  })

  test('an invocation gets 202 at its time limit, immediately if the limit is 0, or when the command expires', async () => {
    const testEndpoint = await aTestEndpoint()
    const timed = async (query: string) => {
      const began = monotonicMs()
      const { status, text, headers } = await admin(`POST ${testEndpoint.path}/reboot?${query}`)
      return { status, text, id: Number(String(headers.location).split('/').at(-1)), ms: monotonicMs() - began }
    }
    const atOnce = await timed('awaitTimeout=0')
    assert.deepEqual([atOnce.status, atOnce.text], [202, ''])
    assert.equal((await get(testEndpoint, atOnce.id)).status, 'PENDING')
    const late = await timed('awaitTimeout=1')
    assert.ok(late.status === 202 && late.ms >= 990 && late.ms < 4000, `${late.ms}`)
    const expired = await timed('awaitTimeout=7&commandTtl=300')
    assert.ok(expired.status === 202 && expired.ms >= 290 && expired.ms < 4000, `${expired.ms}`)
    const command = await get(testEndpoint, expired.id)
    assert.equal(command.status, 'EXPIRED')
    assert.equal(Date.parse(command.updatedAt) - Date.parse(command.createdAt), 300)
  })

  test('an invocation accepts JSON, text or an empty body, and rejects any other body', async () => {
    const testEndpoint = await aTestEndpoint()
    const at = `POST ${testEndpoint.path}/blink?awaitTimeout=0`
    const types = {
      json: { 'content-type': 'application/json; charset=utf-8' },
      text: { 'content-type': 'Text/Plain' },
    }
    const accepted: [body: string | undefined, headers: Record<string, string>, payload: unknown][] = [
      ['{"a": [1, "ü"], "__proto__": 2}', types.json, JSON.parse('{"a":[1,"ü"],"__proto__":2}')],
      ['5', types.json, 5],
      ['{"a": 1', types.text, '{"a": 1'],
      ['a "quoted" text\n', types.text, 'a "quoted" text\n'],
      ['', types.json, undefined],
      ['', types.text, undefined],
      ['', { 'content-type': 'application/xml' }, undefined],
      [undefined, {}, undefined],
    ]
    for (const [body, headers, payload] of accepted) {
      const answer = await admin(at, body, headers)
      assert.equal(answer.status, 202, `${body} ${answer.text}`)
      const id = Number(String(answer.headers.location).split('/').at(-1))
      assert.deepEqual((await get(testEndpoint, id, 'blink')).requestPayload, payload)
    }
    const [, polled] = await testEndpoint.post('/command/blink')
    assert.deepEqual(
      polled.map((command: { payload?: unknown }) => command.payload),
      accepted.map(([, , payload]) => payload),
    )
    const refused: [body: string | Buffer, headers: Record<string, string>, status: number][] = [
      ['{"a": 1', types.json, 400],
      [' ', types.json, 400],
      ['x', { 'content-type': '' }, 400],
      ['<a/>', { 'content-type': 'application/xml' }, 415],
      ['a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
      [Buffer.from([0x22, 0xff, 0x22]), types.json, 400],
      [Buffer.from([0xff]), types.text, 400],
      ['"\\u0000"', types.json, 400],
      ['['.repeat(70) + ']'.repeat(70), types.json, 400],
      ['1e999', types.json, 400],
      [`"${'x'.repeat(999_999)}"`, types.json, 413],
      ['"'.repeat(500_001), types.text, 413],
      ['x'.repeat(1_048_577), types.text, 413],
    ]
    for (const [body, headers, status] of refused) {
      const answer = await admin(at, body, headers)
      assert.equal(answer.status, status, `${String(body).slice(0, 30)} ${answer.text}`)
    }
    assert.equal((await testEndpoint.post('/command/blink'))[1].length, accepted.length)
    assert.equal((await admin(at, `"${'x'.repeat(999_998)}"`, types.json)).status, 202)
  })

  const badQueries = [
    'awaitTimeout=8',
    'awaitTimeout=-1',
    'awaitTimeout=x',
    'awaitTimeout=1.5',
    'commandTtl=-1',
    'commandTtl=31536000001',
    'commandTtl=x',
  ]
  for (const query of badQueries)
    test(`an invocation with ${query} gets 400 and creates no command`, async () => {
      const testEndpoint = await aTestEndpoint()
      const answer = await admin(`POST ${testEndpoint.path}/reboot?${query}`)
      assert.equal(answer.status, 400)
      assert.ok(answer.body.message.includes(query.split('=')[0]), answer.text)
      assert.deepEqual(await testEndpoint.post('/command/reboot'), [200, []])
    })

  test('a command with commandTtl=0 is pushed once, is in no response to the device, and accepts a result only while the caller waits', async () => {
    const testEndpoint = await aConnectedTestEndpoint()
    const { sensor, topic, path } = testEndpoint
    const waiting = admin(`POST ${path}/reboot?commandTtl=0&awaitTimeout=7`)
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: 1 }])
    assert.equal((await get(testEndpoint, 1)).status, 'PENDING')
    assert.deepEqual(await testEndpoint.post('/command/reboot'), [200, []])
    await sensor.publish(`${topic}/result/reboot/1`, [{ id: 1, statusCode: 200, payload: 'now' }])
    assert.deepEqual([(await waiting).status, (await waiting).body], [200, 'now'])

    const second = await invoke(testEndpoint, 'reboot', 'commandTtl=0&awaitTimeout=0')
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: second }])
    assert.equal((await get(testEndpoint, second)).status, 'EXPIRED')
    await sensor.publish(`${topic}/result/reboot/2`, [{ id: second, statusCode: 200 }])
    assert.equal((await sensor.receives(`${topic}/result/reboot/2/error`)).json.statusCode, 400)
    assert.equal((await get(testEndpoint, second)).status, 'EXPIRED')

    const offline = await aTestEndpoint()
    const began = monotonicMs()
    const third = await invoke(offline, 'reboot', 'commandTtl=0&awaitTimeout=7')
    assert.ok(monotonicMs() - began < 3000, 'an invocation must get 202 immediately if the endpoint is not connected')
    assert.equal((await get(offline, third)).status, 'EXPIRED')
  })

  test('an invocation gets 429 and uses no id while the endpoint has 1,000 outstanding commands, or has used all ids', async () => {
    const testEndpoint = await aTestEndpoint()
    await invoke(testEndpoint)
    await sql`
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, size, created_at,
        ends_at, kept)
      select tenant_id, endpoint_id, n, application_name, 'many', size, created_at, ends_at, kept
      from commands.commands, generate_series(2, 999) n where endpoint_id = ${testEndpoint.endpointId}`
    // The commands were inserted without the service, which would have counted them and their ids.
    await sql`
      update commands.endpoints set last_id = 999, outstanding_at_most = null where endpoint_id = ${testEndpoint.endpointId}`
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=0`)),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 429, 429, 429, 429])
    const refused = answers.find(({ status }) => status === 429)!
    assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/)
    await testEndpoint.post('/result/many', [{ id: 500, statusCode: 200 }])
    assert.equal(await invoke(testEndpoint), 1001)
    assert.equal((await admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=0`)).status, 429)
    await passTime(testEndpoint, 60_000)
    assert.equal(await invoke(testEndpoint), 1002)
    // 2147483647 is the greatest id that a command can have.
    await sql`update commands.endpoints set last_id = 2147483647 where endpoint_id = ${testEndpoint.endpointId}`
    assert.equal((await admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=0`)).status, 429)
  })

  test('simultaneous invocations of several endpoints are in order for each endpoint, and only a full endpoint gets 429', async () => {
    const [full, counted, once, often] = [
      await aConnectedTestEndpoint(),
      await aConnectedTestEndpoint(),
      await aConnectedTestEndpoint(),
      await aConnectedTestEndpoint(),
    ]
    const all = [full, counted, once, often]
    for (const testEndpoint of all) assert.equal(await invoke(testEndpoint), 1)
    await sql`
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, size, created_at,
        ends_at, kept)
      select tenant_id, endpoint_id, n, application_name, 'many', size, created_at, ends_at, kept
      from commands.commands, generate_series(2, 1000) n where endpoint_id = ${full.endpointId}`
    // This is the state after a thousand commands since the last count. The device of `counted` has sent the results.
    await sql`
      update commands.endpoints set last_id = 1000, outstanding_at_most = 1000
      where endpoint_id = any(${[full.endpointId, counted.endpointId]}::text[])`
    const post = ({ path }: TestEndpoint, n: number) => admin(`POST ${path}/reboot?awaitTimeout=0`, { n })
    // The first invocation is stored alone. The others arrive meanwhile and form a group.
    const answers = await Promise.all([
      post(once, 0),
      ...[...all, often, full, often, counted].map((testEndpoint, n) => post(testEndpoint, n)),
    ])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 429, 202, 202, 202, 202, 429, 202, 202],
    )
    const stored = async ({ endpointId }: TestEndpoint) =>
      await sql`
        select command_id, payload::json -> 'n' as n from commands.commands
        where endpoint_id = ${endpointId} and command_id > 1 and payload is not null order by command_id`
    assert.deepEqual(
      (await stored(often)).map(({ commandId, n }) => [commandId, n]),
      [
        [2, 3],
        [3, 4],
        [4, 6],
      ],
    )
    assert.deepEqual(
      (await stored(counted)).map(({ commandId, n }) => [commandId, n]),
      [
        [1001, 1],
        [1002, 7],
      ],
    )
    assert.deepEqual((await stored(full)).length, 0)
    const [{ atMost }] = (await sql`
      select outstanding_at_most as at_most from commands.endpoints where endpoint_id = ${counted.endpointId}`) as [
      { atMost: number },
    ]
    assert.equal(atMost, 3)
    // Each command is pushed once, also those that were stored with the second statement of a group.
    const pushed: number[] = []
    while (pushed.length < 4)
      pushed.push(
        ...(await often.sensor.receives(`${often.topic}/command/reboot/status`)).json.map(
          ({ id }: { id: number }) => id,
        ),
      )
    assert.deepEqual(pushed, [1, 2, 3, 4])
  })

  test('the audit record of an invocation is committed with the command, and an invocation that gets 429 has no audit record', async () => {
    const testEndpoint = await aConnectedTestEndpoint()
    const ids = await Promise.all(Array.from({ length: 9 }, () => invoke(testEndpoint)))
    await admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=1`)
    // The endpoint has used all ids, so the next invocation gets 429.
    await sql`update commands.endpoints set last_id = 2147483647 where endpoint_id = ${testEndpoint.endpointId}`
    assert.equal((await admin(`POST ${testEndpoint.path}/reboot`)).status, 429)
    const records = async () => sql<{ resource: string; status: number; isTogether: boolean }[]>`
      select a.resource, a.status, c.xmin = a.xmin as is_together from kernel.audit_log a
      left join commands.commands c on c.endpoint_id = ${testEndpoint.endpointId} and a.resource = ${testEndpoint.path} || '/reboot/' || c.command_id
      where starts_with(a.resource, ${testEndpoint.path})`
    // The invocation with awaitTimeout=1 was recorded with the expected status 200. Its record gets status 202 after the response.
    await eventually(async () => assert.equal((await records()).filter(({ status }) => status === 202).length, 10))
    const found = await records()
    assert.equal(found.length, 10)
    for (const id of ids)
      assert.deepEqual(
        found.find(({ resource }) => resource === `${testEndpoint.path}/reboot/${id}`),
        { resource: `${testEndpoint.path}/reboot/${id}`, status: 202, isTogether: true },
      )
  })

  test('each command of an endpoint has a different id, even if many commands are invoked at the same time', async () => {
    const testEndpoint = await aTestEndpoint()
    const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => invoke(testEndpoint, n % 2 ? 'one' : 'two')))
    assert.deepEqual(
      ids.sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, n) => n + 1),
    )
  })
})

suite('a result', () => {
  test('a result is stored only if it has the type of the command, and the command has no result and has not expired', async () => {
    const testEndpoint = await aTestEndpoint()
    const id = await invoke(testEndpoint)
    const send = (type: string, results: unknown) => testEndpoint.post(`/result/${type}/1`, results)
    assert.equal((await send('blink', [{ id, statusCode: 200 }]))[0], 200)
    assert.equal((await get(testEndpoint, id)).status, 'PENDING')
    await Promise.all([
      testEndpoint.post('/result/reboot', [{ id, statusCode: 201, payload: 1 }]),
      testEndpoint.post('/result/reboot', [{ id, statusCode: 202, payload: 2 }]),
    ])
    const first = await get(testEndpoint, id)
    await send('reboot', [{ id, statusCode: 500 }])
    assert.deepEqual(await get(testEndpoint, id), first)
    const late = await invoke(testEndpoint, 'reboot', 'awaitTimeout=0&commandTtl=1000')
    await passTime(testEndpoint, 1000)
    await send('reboot', [{ id: late, statusCode: 200 }])
    const expired = await get(testEndpoint, late)
    assert.deepEqual([expired.status, expired.statusCode], ['EXPIRED', undefined])
  })
})

suite('a device', () => {
  test('a device gets new commands by push, and all outstanding commands when it connects or requests them', async () => {
    const testEndpoint = await aTestEndpoint()
    const { topic } = testEndpoint
    for (const type of ['light', 'reboot', 'light']) await invoke(testEndpoint, type)
    const sensor = await device()
    await sensor.publish(`${topic}/result/none`, [])
    assert.deepEqual((await sensor.receives(`${topic}/command/light/status`)).json, [{ id: 1 }, { id: 3 }])
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: 2 }])
    for (const id of [4, 5]) {
      await invoke(testEndpoint, 'light')
      assert.deepEqual((await sensor.receives(`${topic}/command/light/status`)).json, [{ id }])
    }
    // When other nodes know the connection, the service reads the outstanding commands again. It must not push them a second time.
    await sensor.receivesNothing(200)
    await sensor.publish(`${topic}/command/7`)
    const all = (await sensor.receives(`${topic}/command/7/status`)).json
    assert.deepEqual(
      all.map(({ id, type }: { id: number; type: string }) => [id, type]),
      [
        [1, 'light'],
        [2, 'reboot'],
        [3, 'light'],
        [4, 'light'],
        [5, 'light'],
      ],
    )
    await sensor.publish(`${topic}/result/light/8`, [
      { id: 1, statusCode: 200 },
      { id: 4, statusCode: 200 },
    ])
    await sensor.receives(`${topic}/result/light/8/status`)
    await sensor.end()
    const again = await device()
    await again.publish(`${topic}/result/none`, [])
    assert.deepEqual((await again.receives(`${topic}/command/light/status`)).json, [{ id: 3 }, { id: 5 }])
    await again.receives(`${topic}/command/reboot/status`)
    await again.end()
  })

  test('a device gets no pushes of a type that it does not observe', async () => {
    const testEndpoint = await aConnectedTestEndpoint()
    const { sensor, topic } = testEndpoint
    await sensor.publish(`${topic}/command/light/1`, { observe: false })
    await sensor.receives(`${topic}/command/light/1/status`)
    await invoke(testEndpoint, 'light')
    await invoke(testEndpoint, 'reboot')
    assert.deepEqual((await sensor.receives(`${topic}/command/reboot/status`)).json, [{ id: 2 }])
    await sensor.receivesNothing(50)
    await sensor.publish(`${topic}/command/light/2`, { observe: true })
    assert.deepEqual((await sensor.receives(`${topic}/command/light/2/status`)).json, [{ id: 1 }])
    await invoke(testEndpoint, 'light')
    assert.deepEqual((await sensor.receives(`${topic}/command/light/status`)).json, [{ id: 3 }])
  })

  test('if the outstanding commands are too large for a packet, several pushes contain all commands, and a response contains the first commands', async () => {
    const testEndpoint = await aTestEndpoint()
    const big = 'x'.repeat(400_000)
    for (let n = 0; n < 5; n++) await invoke(testEndpoint, 'load', 'awaitTimeout=0', { big })
    const ids = (commands: { id: number }[]) => commands.map(({ id }) => id)
    assert.deepEqual(ids((await testEndpoint.post('/command/load'))[1]), [1, 2])
    await testEndpoint.post('/result/load', [{ id: 1, statusCode: 200 }])
    assert.deepEqual(ids((await testEndpoint.post('/command/load'))[1]), [2, 3])
    const sensor = await device()
    await sensor.publish(`${testEndpoint.topic}/result/none`, [])
    const received = []
    for (let n = 0; n < 2; n++)
      received.push(ids((await sensor.receives(`${testEndpoint.topic}/command/load/status`)).json))
    assert.deepEqual(received, [
      [2, 3],
      [4, 5],
    ])
    await sensor.end()
  })

  test('a device does not get a command that has expired or was deleted', async () => {
    const testEndpoint = await aTestEndpoint()
    const [expired, deleted, kept] = [
      await invoke(testEndpoint),
      await invoke(testEndpoint),
      await invoke(testEndpoint, 'reboot', 'awaitTimeout=0&commandTtl=120000'),
    ]
    assert.equal((await admin(`DELETE ${testEndpoint.path}/reboot/${deleted}`)).status, 204)
    await passTime(testEndpoint, 60_000)
    assert.equal((await get(testEndpoint, expired)).status, 'EXPIRED')
    assert.deepEqual(await testEndpoint.post('/command/reboot'), [200, [{ id: kept }]])
    const sensor = await device()
    await sensor.publish(`${testEndpoint.topic}/result/none`, [])
    assert.deepEqual((await sensor.receives(`${testEndpoint.topic}/command/reboot/status`)).json, [{ id: kept }])
    await sensor.end()
  })
})

suite('a caller that waits', () => {
  test('a caller that waits gets 404 when the command or its endpoint is deleted', async () => {
    const testEndpoint = await aTestEndpoint()
    const waiting = admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=7`)
    await eventually(async () => assert.equal((await admin(`DELETE ${testEndpoint.path}/reboot/1`)).status, 204))
    assert.equal((await waiting).status, 404)
    // An integer outside the range of command ids gets 404, not 400.
    for (const id of [1, 0, -1, 2_147_483_648, '99999999999999999999'])
      for (const method of ['GET', 'DELETE'])
        assert.equal((await admin(`${method} ${testEndpoint.path}/reboot/${id}`)).status, 404, `${method} ${id}`)
    assert.equal((await admin(`GET ${testEndpoint.path}/reboot/one`)).status, 400)
    const second = admin(`POST ${testEndpoint.path}/reboot?awaitTimeout=7`)
    await eventually(async () => assert.equal((await get(testEndpoint, 2)).status, 'PENDING'))
    // The clock of the node that unregisters the endpoint may be behind the clock of the database. Commands that then seem to be newer than
    // the deletion of their endpoint must also be deleted.
    const { endpointId } = testEndpoint
    await sql`update commands.commands set created_at = created_at + interval '1 hour' where endpoint_id = ${endpointId}`
    await sql`update commands.endpoints set last_at = last_at + interval '1 hour' where endpoint_id = ${endpointId}`
    assert.equal((await admin(`DELETE /epr/api/v1/endpoints/${testEndpoint.endpointId}`)).status, 204)
    assert.equal((await second).status, 404)
    await eventually(async () => {
      const left = await sql`select 1 from commands.endpoints where endpoint_id = ${testEndpoint.endpointId}`
      assert.equal(left.length, 0)
    })
  })
})

suite('permissions', () => {
  test('a caller without a permission on the endpoint gets the same 404 for its commands as for a missing endpoint, byte for byte', async () => {
    const testEndpoint = await aTestEndpoint()
    const id = await invoke(testEndpoint)
    await testEndpoint.post('/result/reboot', [{ id, statusCode: 200 }])
    const reader = waypost.as(aCaller({ on: { [`endpoint-${testEndpoint.endpointId}`]: ['endpoint:read'] } }))
    const writer = waypost.as(aCaller({ on: { [`application-${testEndpoint.app}`]: ['endpoint:update'] } }))
    const withoutPermissions = waypost.as(aCaller())
    const reads = [`GET ${testEndpoint.path}/reboot/${id}`, `GET ${testEndpoint.path}/reboot/last`]
    const writes = [`POST ${testEndpoint.path}/reboot?awaitTimeout=0`, `DELETE ${testEndpoint.path}/reboot/${id}`]
    const assertHidden = async (ask: typeof reader, operation: string) => {
      const hidden = await ask(operation)
      const missing = await ask(operation.replaceAll(testEndpoint.endpointId, 'none'))
      assert.equal(hidden.status, 404)
      assert.equal(hidden.text.replaceAll(testEndpoint.endpointId, 'none'), missing.text)
    }
    for (const operation of reads) {
      assert.equal((await reader(operation)).status, 200)
      for (const ask of [writer, withoutPermissions, other]) await assertHidden(ask, operation)
    }
    for (const operation of writes)
      for (const ask of [reader, withoutPermissions, other]) await assertHidden(ask, operation)
    for (const operation of writes) assert.ok((await writer(operation)).status < 300)
    assert.equal((await waypost.as(undefined)(reads[0]!)).status, 401)
  })

  test('a list leaves out commands that the caller may not read', async () => {
    const [mine, theirs] = [await aTestEndpoint(), await aTestEndpoint()]
    for (const testEndpoint of [mine, theirs])
      await testEndpoint.post('/result/reboot', [{ id: await invoke(testEndpoint), statusCode: 200 }])
    const reader = waypost.as(aCaller({ on: { [`endpoint-${mine.endpointId}`]: ['endpoint:read'] } }))
    const query = `endpointId=${theirs.endpointId},none&endpointId=${mine.endpointId}&commandTypes=reboot`
    const { body } = await reader(`GET ${root}/endpoints/commands?${query}`)
    assert.deepEqual(
      body.map(({ endpointId }: TestEndpoint) => endpointId),
      [mine.endpointId],
    )
    const all = await admin(`GET ${root}/endpoints/commands?${query}`)
    assert.deepEqual(
      all.body.map(({ endpointId }: TestEndpoint) => endpointId),
      [theirs.endpointId, mine.endpointId],
    )
    const request = { endpointIds: [theirs.endpointId, mine.endpointId], commandTypes: ['reboot'] }
    const last = await reader(`POST ${root}/endpoints/commands/last`, request)
    assert.deepEqual(
      last.body.map(({ endpointId }: TestEndpoint) => endpointId),
      [mine.endpointId],
    )
    assert.equal((await reader(`GET ${root}/endpoints/commands/${mine.app}`)).status, 404)
    const ofApp = waypost.as(aCaller({ on: { [`application-${mine.app}`]: ['application:endpoint-command:read'] } }))
    assert.equal((await ofApp(`GET ${root}/endpoints/commands/${mine.app}`)).body.totalElements, 1)
    assert.equal((await ofApp(`GET ${root}/endpoints/commands/${theirs.app}`)).status, 404)
    const ofOtherTenant = await waypost.as(aTenantAdmin('other'))(`GET ${root}/endpoints/commands?${query}`)
    assert.deepEqual(ofOtherTenant.body, [])
  })
})

suite('lists', () => {
  test('the last command of an endpoint is the command with the latest result', async () => {
    const testEndpoint = await aTestEndpoint()
    const [one, two] = [await invoke(testEndpoint), await invoke(testEndpoint)]
    assert.equal((await admin(`GET ${testEndpoint.path}/reboot/last`)).status, 404)
    await testEndpoint.post('/result/reboot', [{ id: two, statusCode: 200 }])
    await sleep(2)
    await testEndpoint.post('/result/reboot', [{ id: one, statusCode: 200 }])
    assert.equal((await admin(`GET ${testEndpoint.path}/reboot/last`)).body.commandId, one)
    const body = { endpointIds: [testEndpoint.endpointId], commandTypes: ['reboot', 'none', 'reboot'] }
    const last = await admin(`POST ${root}/endpoints/commands/last`, body)
    assert.deepEqual(
      last.body.map(({ commands }: { commands: { commandId: number }[] }) => commands.map((c) => c.commandId)),
      [[one]],
    )
    await admin(`DELETE ${testEndpoint.path}/reboot/${one}`)
    assert.equal((await admin(`GET ${testEndpoint.path}/reboot/last`)).body.commandId, two)
  })

  test('a list of the commands of endpoints has at most a thousand commands, the newest first', async () => {
    const testEndpoint = await aTestEndpoint()
    for (const type of ['one', 'two', 'one', 'three']) await invoke(testEndpoint, type)
    const listed = async (types: string) =>
      (await admin(`GET ${root}/endpoints/commands?endpointId=${testEndpoint.endpointId}&commandTypes=${types}`))
        .body[0]
    const ids = (element: { commands: { commandId: number }[] }) => element.commands.map(({ commandId }) => commandId)
    assert.deepEqual(ids(await listed('one,two')), [3, 2, 1])
    assert.ok(!('truncated' in (await listed('one'))))
    await sql`
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, size, created_at,
        ends_at, kept)
      select tenant_id, endpoint_id, command_id + n, application_name, 'one', size, created_at, ends_at, kept
      from commands.commands, generate_series(10, 1010) n where endpoint_id = ${testEndpoint.endpointId} and command_id = 4`
    const cut = await listed('one')
    assert.deepEqual([cut.commands.length, cut.truncated, cut.commands[0].commandId], [1000, true, 1014])
    for (const query of ['', 'endpointId=a', 'commandTypes=a', 'endpointId=,&commandTypes=a'])
      assert.equal((await admin(`GET ${root}/endpoints/commands?${query}`)).status, 400)
  })

  test('commands of an application are listed in pages, sorted by creation or update', async () => {
    const { version, app } = await anApplication()
    const testEndpoints = [await aTestEndpoint(version), await aTestEndpoint(version)]
    for (let n = 0; n < 5; n++) await invoke(testEndpoints[n % 2]!, n % 2 === 1 ? 'odd' : 'even')
    await sleep(2)
    await testEndpoints[0]!.post('/result/even', [{ id: 1, statusCode: 200 }])
    const page = async (query: string) => (await admin(`GET ${root}/endpoints/commands/${app}?${query}`)).body
    /**
     * Returns the commands of the page: `a1` is the first command of the first endpoint, `b2` the second command of the second endpoint.
     */
    const labels = (body: { content: { endpointId: string; commandId: number }[] }) =>
      body.content.map(
        ({ endpointId, commandId }) => `${endpointId === testEndpoints[0]!.endpointId ? 'a' : 'b'}${commandId}`,
      )
    const { content, ...rest } = await page('size=2&page=1&sort=createdAt,asc')
    assert.deepEqual(rest, {
      totalElements: 5,
      totalPages: 3,
      number: 1,
      size: 2,
      numberOfElements: 2,
      first: false,
      last: false,
      empty: false,
    })
    assert.deepEqual(labels({ content }), ['a2', 'b2'])
    assert.deepEqual(labels(await page('')), ['a3', 'b2', 'a2', 'b1', 'a1'])
    assert.deepEqual(labels(await page('sort=updatedAt,desc')), ['a1', 'a3', 'b2', 'a2', 'b1'])
    assert.deepEqual(labels(await page('sort=updatedAt&size=2&page=1')), ['b2', 'a3'])
    assert.deepEqual(labels(await page('commandTypes=odd,none')), ['b2', 'b1'])
    assert.deepEqual((await page('page=9')).empty, true)
    const bad = [
      'sort=status',
      'sort=createdAt,up',
      'size=0',
      'size=10001',
      'page=-1',
      'state=EXECUTED',
      'state=pending',
    ]
    for (const query of bad)
      assert.equal((await admin(`GET ${root}/endpoints/commands/${app}?${query}`)).status, 400, query)
    assert.equal((await admin(`GET ${root}/endpoints/commands/none`)).status, 404)

    await testEndpoints[1]!.post('/result/odd', [{ id: 1, statusCode: 422 }])
    await waypost.kit.db.sql`
      update commands.commands set ends_at = now() - interval '1 s'
      where endpoint_id = ${testEndpoints[0]!.endpointId} and command_id = 3`
    for (const [state, found] of [
      ['SUCCEEDED', ['a1']],
      ['FAILED', ['b1']],
      ['EXPIRED', ['a3']],
      ['PENDING', ['b2', 'a2']],
      ['FAILED,EXPIRED', ['a3', 'b1']],
    ] as const) {
      const body = await page(`state=${state}`)
      assert.deepEqual([labels(body), body.totalElements], [found, found.length], state)
    }
    assert.deepEqual(labels(await page('state=PENDING&commandTypes=odd&sort=updatedAt')), ['b2'])
    const counts = await admin(`GET ${root}/endpoints/commands/${app}/counts`)
    assert.deepEqual(counts.body, { total: 5, pending: 2, succeeded: 1, failed: 1, expired: 1 })
    const ofType = await admin(`GET ${root}/endpoints/commands/${app}/counts?commandTypes=odd`)
    assert.deepEqual(ofType.body, { total: 2, pending: 1, succeeded: 0, failed: 1, expired: 0 })
    const missing = await admin(`GET ${root}/endpoints/commands/none/counts`)
    for (const ask of [waypost.as(aTenantAdmin('other')), waypost.as(aCaller({ on: {} }))]) {
      const hidden = await ask(`GET ${root}/endpoints/commands/${app}/counts`)
      assert.deepEqual([hidden.status, hidden.text.replaceAll(app, 'none')], [404, missing.text])
    }
  })
})

test('the operations are also served at the older root path', async () => {
  const testEndpoint = await aTestEndpoint()
  const answer = await admin(`POST ${testEndpoint.path.replace(root, '/rci/api/v1')}/reboot?awaitTimeout=0`)
  assert.equal(answer.headers.location, `${waypost.baseUrl}${testEndpoint.path.replace(root, '/rci/api/v1')}/reboot/1`)
  assert.equal((await get(testEndpoint, 1)).status, 'PENDING')
})
