import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openTokens, root } from '../../../test/harness/tokens.ts'
import { tokensMax } from './service/provisioning.ts'
import { type TokenStatus, targetStatuses, tokenStatuses } from './states.ts'

const { waypost, admin, api, publishedEvents, provision, anApplication, anEndpoint, aTokenWithStatus } =
  await openTokens()
const { sql } = waypost.kit.db
const other = waypost.as(aTenantAdmin('other'))
const tokensOf = (endpointId: string) => `${root}/endpoints/${endpointId}/tokens`

suite('provisioning a token', () => {
  test('provisioning a token returns the token once, and a Location without the token', async () => {
    const { app } = await anApplication()
    const { endpointId } = await anEndpoint(app, { endpointId: 'pump~1' })
    for (const prefix of [root, '/cm/api/v1']) {
      const url = `${prefix}/endpoints/${endpointId}/tokens`
      const answer = await admin(`POST ${url}`, { applicationName: app, token: `köder ${prefix.length} %2F`, x: 1 })
      assert.equal(answer.status, 201, answer.text)
      const { createdDate, ...rest } = answer.body
      assert.deepEqual(rest, { token: `köder ${prefix.length} %2F`, applicationName: app, status: 'Inactive' })
      assert.equal(createdDate, new Date(createdDate).toISOString())
      assert.match(answer.headers.location!, new RegExp(`^http://waypost.test${url}/[0-9a-f-]{36}$`))
      const location = answer.headers.location!.replace('http://waypost.test', '')
      const { status, body } = await admin(`GET ${location}`)
      assert.equal(status, 200)
      assert.deepEqual(body, { status: 'Inactive', createdDate, applicationName: app })
    }
  })

  test('provisioning a token generates ten letters and digits if no token is given', async () => {
    const { app } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    const provisioned = await Promise.all(
      Array.from({ length: 5 }, () => provision(endpointId, { applicationName: app })),
    )
    for (const { token } of provisioned) assert.match(token, /^[A-Za-z0-9]{10}$/)
    assert.equal(new Set(provisioned.map(({ token }) => token)).size, 5)
  })

  test('provisioning a token rejects a token of another endpoint of the application, and accepts a token of another application', async () => {
    const { app } = await anApplication()
    const otherApplication = await anApplication()
    const { token } = await anEndpoint(app)
    const { endpointId } = await anEndpoint(app)
    const answer = await admin(`POST ${tokensOf(endpointId)}`, { applicationName: app, token })
    assert.equal(answer.status, 409)
    assert.deepEqual(answer.body, { message: `Application ${app} already has this token; choose another token` })
    const foreign = await anEndpoint(otherApplication.app)
    await provision(foreign.endpointId, { applicationName: otherApplication.app, token })
  })

  test('provisioning a token for an unknown application, or for an application to which the endpoint does not belong, is answered with 400', async () => {
    const { app } = await anApplication()
    const otherApplication = await anApplication()
    const { endpointId } = await anEndpoint(app)
    for (const applicationName of ['no-such-application', otherApplication.app]) {
      const answer = await admin(`POST ${tokensOf(endpointId)}`, { applicationName })
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, /^applicationName: /)
    }
  })

  test('bad input is answered with 400 and the name of the field', async () => {
    const { app: applicationName } = await anApplication()
    const { endpointId } = await anEndpoint(applicationName)
    const cases: [string, unknown][] = [
      ['applicationName', {}],
      ['applicationName', { applicationName: '' }],
      ['applicationName', { applicationName: 7 }],
      ...['', 'a+b', 'a#', 'a/b', 'a.b', 'x'.repeat(256), null, 7].map((token): [string, unknown] => [
        'token',
        { applicationName, token },
      ]),
      ['body', []],
    ]
    for (const [field, body] of cases) {
      const answer = await admin(`POST ${tokensOf(endpointId)}`, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.ok(answer.body.message.includes(field), answer.text)
    }
    assert.equal((await admin(`GET ${tokensOf(endpointId)}`)).body.totalElements, 1)
  })

  test('of twenty concurrent requests with the same token one succeeds', async () => {
    const { app } = await anApplication()
    const endpoints = await Promise.all(Array.from({ length: 20 }, () => anEndpoint(app)))
    const answers = await Promise.all(
      endpoints.map(({ endpointId }) =>
        admin(`POST ${tokensOf(endpointId)}`, { applicationName: app, token: 'the one and only' }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)])
  })

  test('the number of tokens of an endpoint is limited', async () => {
    const { app } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    await sql.unsafe(
      `insert into tokens.tokens
       select endpoint_id, n::text, tenant_id, application_name, n::text, 'Revoked', created_date, null
       from tokens.tokens, generate_series(1, $2) n where endpoint_id = $1`,
      [endpointId, tokensMax - 2] as never[],
    )
    const body = { applicationName: app }
    const both = await Promise.all([1, 2].map(() => admin(`POST ${tokensOf(endpointId)}`, body)))
    assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
    assert.match(both.find(({ status }) => status === 409)!.body.message, /has 1000 tokens/)
    const all = await admin(`GET ${tokensOf(endpointId)}?limit=0`)
    assert.equal(all.body.content.length, tokensMax)
  })
})

suite('reading and listing', () => {
  test('a list contains all fields except the text of the token, the newest token first', async () => {
    const { app, version } = await anApplication()
    const { endpointId, token } = await anEndpoint(app)
    await aTokenWithStatus('Suspended', { endpointId, app, version })
    const { status, body, text } = await admin(`GET ${tokensOf(endpointId)}`)
    assert.equal(status, 200)
    assert.equal(body.totalElements, 2)
    assert.deepEqual(
      body.content.map((one: object) => Object.keys(one).sort()),
      [
        ['applicationName', 'createdDate', 'endpointTokenId', 'status', 'updatedDate'],
        ['applicationName', 'createdDate', 'endpointTokenId', 'status'],
      ],
    )
    assert.deepEqual(
      body.content.map((one: { status: string }) => one.status),
      ['Suspended', 'Inactive'],
    )
    assert.ok(!text.includes(token))
  })

  test('lists support pages, order and status filters; tokens of the same millisecond keep their order', async () => {
    const { app } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    for (let i = 0; i < 24; i++) await provision(endpointId, { applicationName: app })
    await sql.unsafe(
      `update tokens.tokens set created_date = date_trunc('second', created_date) where endpoint_id = $1`,
      [endpointId],
    )
    const ids = async (query: string) => {
      const { status, body } = await admin(`GET ${tokensOf(endpointId)}?${query}`)
      assert.equal(status, 200)
      assert.equal(body.totalElements, 25)
      return body.content.map((one: { endpointTokenId: string }) => one.endpointTokenId)
    }
    const all = await ids('limit=0')
    assert.equal(new Set(all).size, 25)
    assert.deepEqual(await ids(''), all.slice(0, 20))
    assert.deepEqual(await ids('order=ASC&limit=0'), all.toReversed())
    const pages = await Promise.all([0, 7, 14, 21].map((offset) => ids(`offset=${offset}&limit=7&order=DESC`)))
    assert.deepEqual(pages.flat(), all)
    assert.deepEqual(await ids('offset=25'), [])
    assert.deepEqual(await ids('offset=24&limit=0'), all.slice(24))
    const created = (await admin(`GET ${tokensOf(endpointId)}?limit=0`)).body.content.map(
      (one: { createdDate: string }) => one.createdDate,
    )
    assert.deepEqual(created, created.toSorted().reverse())
  })

  test('the status filter accepts one or several values, repeated or separated by commas', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    for (const status of tokenStatuses) await aTokenWithStatus(status, { endpointId, app, version })
    const count = async (query: string) => (await admin(`GET ${tokensOf(endpointId)}?${query}`)).body.totalElements
    assert.equal(await count('status=Active'), 1)
    assert.equal(await count('status=Inactive'), 2)
    assert.equal(await count('status=Active,%20Suspended&status=Revoked'), 3)
    assert.equal(await count('status='), 5)
    for (const query of ['status=active', 'status=Active,Gone', 'order=asc', 'limit=-1', 'offset=x', 'limit=1.5']) {
      const answer = await admin(`GET ${tokensOf(endpointId)}?${query}`)
      assert.equal(answer.status, 400, query)
      assert.ok(answer.body.message.startsWith(query.split('=')[0]!), answer.text)
    }
  })

  test('a read with the current ETag gets 304 until the token changes', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    const { url, token } = await aTokenWithStatus('Inactive', { endpointId, app, version })
    const urls = [tokensOf(endpointId), url, `${url}/status`]
    const tags = await Promise.all(urls.map(async (one) => (await admin(`GET ${one}`)).headers.etag!))
    for (const [index, one] of urls.entries())
      for (const tag of [tags[index]!, `"old", ${tags[index]}`, tags[index]!.replaceAll('"', '')]) {
        const answer = await admin(`GET ${one}`, undefined, { 'if-none-match': tag })
        assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', tags[index]])
      }
    assert.ok(await api.validate({ token, versionName: version }))
    for (const [index, one] of urls.entries()) {
      const answer = await admin(`GET ${one}`, undefined, { 'if-none-match': tags[index]! })
      assert.equal(answer.status, 200)
      assert.notEqual(answer.headers.etag, tags[index])
    }
  })
})

suite('the status of a token', () => {
  const outcome = (from: TokenStatus, to: string) =>
    to === 'Inactive'
      ? 400
      : from === to ||
          to === 'Revoked' ||
          (from === 'Active' && to === 'Suspended') ||
          (from === 'Suspended' && to === 'Active')
        ? 204
        : 409

  for (const from of tokenStatuses)
    for (const to of [...targetStatuses, 'Inactive'])
      test(`a change from ${from} to ${to} is answered with ${outcome(from, to)}`, async () => {
        const { app, version } = await anApplication()
        const { endpointId } = await anEndpoint(app)
        const { url, endpointTokenId } = await aTokenWithStatus(from, { endpointId, app, version })
        const before = (await admin(`GET ${url}`)).body
        publishedEvents.length = 0
        const answer = await admin(`PUT ${url}/status`, { status: to })
        assert.equal(answer.status, outcome(from, to), answer.text)
        const after = (await admin(`GET ${url}`)).body
        const moved = answer.status === 204 && from !== to
        assert.equal(after.status, moved ? to : from)
        if (!moved) assert.deepEqual([after, publishedEvents], [before, []])
        else {
          assert.ok(after.updatedDate >= after.createdDate)
          const [{ event, payload }] = publishedEvents as [(typeof publishedEvents)[number]]
          const { tokenHash, ...rest } = payload
          assert.equal(event, 'tokens.token.status-changed')
          assert.match(tokenHash, /^[\w-]{43}$/)
          assert.deepEqual(rest, { tenantId: 'default', applicationName: app, endpointId, endpointTokenId, from, to })
        }
        const status = await admin(`GET ${url}/status`)
        assert.deepEqual(status.body, { status: after.status })
        if (answer.status === 204) assert.equal(answer.headers.etag, status.headers.etag)
        if (answer.status === 409)
          assert.deepEqual(answer.body, {
            message: `The token is ${from} and cannot become ${to}: ${
              from === 'Revoked' ? 'Revoked is final' : 'it can become Active by its first use or Revoked'
            }`,
          })
      })

  test('a malformed body is answered with 400', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    const { url } = await aTokenWithStatus('Active', { endpointId, app, version })
    for (const body of [{}, { status: null }, { status: 'revoked' }, { status: ['Revoked'] }, [], 'x{', '"Revoked"'])
      assert.equal((await admin(`PUT ${url}/status`, body)).status, 400, JSON.stringify(body))
    assert.equal((await admin(`GET ${url}/status`)).body.status, 'Active')
  })
})

suite('deleting a token', () => {
  test('a token is deleted, an event is published, and the same token can be provisioned again', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    const { url, token, endpointTokenId } = await aTokenWithStatus('Active', { endpointId, app, version })
    publishedEvents.length = 0
    assert.equal((await admin(`DELETE ${url}`)).status, 204)
    assert.equal(publishedEvents.length, 1)
    assert.equal(publishedEvents[0]!.event, 'tokens.token.deleted')
    const [{ tokenHash, ...rest }] = publishedEvents[0]!.payload.tokens
    assert.ok(tokenHash)
    assert.deepEqual([publishedEvents[0]!.payload.tenantId, rest], ['default', { endpointId, endpointTokenId }])
    for (const operation of [`GET ${url}`, `GET ${url}/status`, `DELETE ${url}`])
      assert.equal((await admin(operation)).status, 404)
    assert.equal((await admin(`PUT ${url}/status`, { status: 'Revoked' })).status, 404)
    const anew = await provision(endpointId, { applicationName: app, token })
    assert.notEqual(anew.endpointTokenId, endpointTokenId)
    assert.equal(anew.status, 'Inactive')
  })
})

suite('permissions', () => {
  const operations = (endpointId: string, endpointTokenId: string, app: string) =>
    [
      ['endpoint:read', 'GET', tokensOf(endpointId)],
      ['endpoint:read', 'GET', `${tokensOf(endpointId)}/${endpointTokenId}`],
      ['endpoint:read', 'GET', `${tokensOf(endpointId)}/${endpointTokenId}/status`],
      ['endpoint:update', 'POST', tokensOf(endpointId), { applicationName: app }],
      ['endpoint:update', 'PUT', `${tokensOf(endpointId)}/${endpointTokenId}/status`, { status: 'Revoked' }],
      ['endpoint:update', 'DELETE', `${tokensOf(endpointId)}/${endpointTokenId}`],
    ] as const

  test('a caller without the scope, a caller of another tenant and a request for a missing object get the same 404', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    const { endpointTokenId } = await aTokenWithStatus('Active', { endpointId, app, version })
    const blank = (text: string, ...names: string[]) => names.reduce((rest, name) => rest.replaceAll(name, '…'), text)
    const missing = new Map<string, string>()
    for (const [, method, url, body] of operations('none', 'nothing', app)) {
      const answer = await admin(`${method} ${url}`, body)
      assert.equal(answer.status, 404)
      missing.set(method + blank(url, 'none', 'nothing'), blank(answer.text, 'none', 'nothing'))
    }
    for (const [scope, method, url, body] of operations(endpointId, endpointTokenId, app)) {
      const rest = scope === 'endpoint:read' ? 'endpoint:update' : 'endpoint:read'
      const outsiders = {
        'another tenant': other,
        'no permission': waypost.as(aCaller()),
        'the other scope': waypost.as(aCaller({ on: { 'tenant-system': [rest, 'application:read'] } })),
        'another application': waypost.as(aCaller({ on: { 'application-other': [scope] } })),
        'another endpoint': waypost.as(aCaller({ on: { 'endpoint-other': [scope] } })),
        'the same names in another tenant': waypost.as(
          aCaller({ tenantId: 'other', on: { [`endpoint-${endpointId}`]: [scope], [`application-${app}`]: [scope] } }),
        ),
      }
      for (const [who, ask] of Object.entries(outsiders)) {
        const answer = await ask(`${method} ${url}`, body)
        assert.equal(answer.status, 404, `${who}: ${method} ${url}`)
        const names = [endpointId, endpointTokenId]
        assert.equal(blank(answer.text, ...names), missing.get(method + blank(url, ...names)), who)
      }
    }
    assert.equal((await waypost.as(undefined)(`GET ${tokensOf(endpointId)}`)).status, 401)
    assert.equal((await admin(`GET ${tokensOf(endpointId)}/${endpointTokenId}`)).body.status, 'Active')
  })

  test('the scope on the endpoint, its application, its tenant or the platform suffices', async () => {
    const { app, version } = await anApplication()
    const { endpointId } = await anEndpoint(app)
    for (const resource of [`endpoint-${endpointId}`, `application-${app}`, 'tenant-system', 'platform']) {
      const { endpointTokenId } = await aTokenWithStatus('Active', { endpointId, app, version })
      for (const [scope, method, url, body] of operations(endpointId, endpointTokenId, app)) {
        const caller = resource === 'platform' ? aPlatformAdmin() : aCaller({ on: { [resource]: [scope] } })
        const { status } = await waypost.as(caller)(`${method} ${url}`, body)
        assert.equal(status, method === 'GET' ? 200 : method === 'POST' ? 201 : 204, `${resource}: ${method} ${url}`)
      }
    }
  })

  test('a token is found only under its own endpoint', async () => {
    const { app, version } = await anApplication()
    const [permitted, other] = [await anEndpoint(app), await anEndpoint(app)]
    const { endpointTokenId } = await aTokenWithStatus('Active', { ...permitted, app, version })
    const url = `${tokensOf(other.endpointId)}/${endpointTokenId}`
    assert.equal((await admin(`GET ${url}`)).status, 404)
    assert.equal((await admin(`DELETE ${url}`)).status, 404)
  })
})

test('the database does not contain the text of a token', async () => {
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(app)
  const { token: second } = await aTokenWithStatus('Suspended', { endpointId, app, version })
  const rows = await sql.unsafe('select t::text as row from tokens.tokens t where endpoint_id = $1', [endpointId])
  assert.equal(rows.length, 2)
  for (const { row } of rows) for (const text of [token, second]) assert.ok(!row.includes(text))
})
