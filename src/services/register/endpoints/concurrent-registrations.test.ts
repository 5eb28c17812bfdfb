import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRegister, root } from '../../../../test/harness/register.ts'
import { createSharedTransactions } from './shared-transactions.ts'

const { waypost, admin, anApplication } = await openRegister()
const endpoints = `${root}/endpoints`
const numbers = Array.from({ length: 60 }, (_, index) => index)

suite('endpoints registered at the same time', () => {
  test('concurrent registrations share transactions, and each endpoint gets its own version and token', async () => {
    const { app } = await anApplication(admin, ['v1', 'v2'])
    const versionOf = (n: number) => `${app}-v${1 + (n % 2)}`
    const answers = await Promise.all(
      numbers.map((n) =>
        admin(`POST ${endpoints}`, {
          appVersion: { name: versionOf(n) },
          endpointId: `${app}-${n}`,
          metadata: { number: n },
        }),
      ),
    )
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.endpointId]),
      numbers.map((n) => [201, `${app}-${n}`]),
    )
    assert.equal(new Set(answers.map(({ body }) => body.token)).size, numbers.length)
    const rows = await waypost.kit.db.sql`
      select endpoint_id, version_name, metadata, xmin::text as transaction from register.endpoints
      where application_name = ${app} order by (metadata ->> 'number')::int`
    assert.deepEqual(
      rows.map(({ endpointId, versionName, metadata }) => [endpointId, versionName, metadata]),
      numbers.map((n) => [`${app}-${n}`, versionOf(n), { number: n }]),
    )
    const transactions = new Set(rows.map(({ transaction }) => transaction)).size
    assert.ok(transactions <= numbers.length / 2, `${transactions} transactions for ${numbers.length} endpoints`)
    const list = await admin(`GET ${endpoints}?applicationVersionName=${versionOf(0)}&limit=1`)
    assert.equal(list.body.totalElements, numbers.length / 2)
  })

  test('a shared transaction writes the audit record of each endpoint that it creates, and no record for a rejected endpoint', async () => {
    const { app, version } = await anApplication()
    const body = (endpointId: string) => ({ appVersion: { name: version }, endpointId })
    assert.equal((await admin(`POST ${endpoints}`, body(`${app}-1`))).status, 201)
    const answers = await Promise.all(numbers.map((n) => admin(`POST ${endpoints}`, body(`${app}-${n}`))))
    assert.deepEqual(
      answers.map(({ status }) => status),
      numbers.map((n) => (n === 1 ? 409 : 201)),
    )
    await waypost.kit.audit.flush()
    const recorded = await waypost.kit.db.sql`
      select a.status, a.correlation_id, a.fields, a.resource, e.xmin = a.xmin as together
      from kernel.audit_log a left join register.endpoints e on a.resource = ${`${endpoints}/`} || e.endpoint_id
      where a.correlation_id = any(${answers.map(({ headers }) => headers['x-correlation-id']!)}::text[])`
    const byRequest = new Map(recorded.map(({ correlationId, ...record }) => [correlationId, record]))
    assert.equal(recorded.length, numbers.length - 1)
    for (const [n, { headers }] of answers.entries())
      assert.deepEqual(
        byRequest.get(headers['x-correlation-id']),
        n === 1
          ? undefined
          : {
              status: 201,
              fields: ['appVersion', 'endpointId'],
              resource: `${endpoints}/${app}-${n}`,
              together: true,
            },
      )
  })

  test('when endpoints are registered at the same time with the same id or token, one endpoint is registered, and the other requests get 409', async () => {
    const { app, version } = await anApplication()
    const name = { appVersion: { name: version } }
    const sameId = numbers.map(() => admin(`POST ${endpoints}`, { ...name, endpointId: `${app}-same` }))
    const sameToken = numbers.map(() => admin(`POST ${endpoints}`, { ...name, endpointToken: `${app}-token` }))
    const others = numbers.map((n) => admin(`POST ${endpoints}`, { ...name, endpointId: `${app}-${n}` }))
    for (const group of [sameId, sameToken]) {
      const statuses = (await Promise.all(group)).map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array(numbers.length - 1).fill(409)])
    }
    for (const { status, text } of await Promise.all(others)) assert.equal(status, 201, text)
    const list = await admin(`GET ${endpoints}?applicationName=${app}&limit=1`)
    assert.equal(list.body.totalElements, numbers.length + 2)
  })

  test('if another transaction uses the id of a registration first, the registration gets 409, and other registrations of the shared transaction succeed', async () => {
    const { app, version } = await anApplication()
    const { db } = waypost.kit
    const ids = [`${app}-same`, ...numbers.map((n) => `${app}-${n}`)]
    const [inserted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = db.tx(async (sql) => {
      await sql`
        insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date, created_date)
        values (${ids[0]!}, 'default', ${app}, ${version}, now(), now())`
      inserted.resolve()
      await end.promise
    })
    await inserted.promise
    const registrations = ids.map((endpointId) =>
      admin(`POST ${endpoints}`, { appVersion: { name: version }, endpointId }),
    )
    await eventually(async () => {
      const waiting = await db.sql`select from pg_locks where not granted and locktype = 'transactionid'`
      assert.ok(waiting.length > 0)
    })
    end.resolve()
    await other
    assert.deepEqual(
      (await Promise.all(registrations)).map(({ status }) => status),
      ids.map((_, index) => (index === 0 ? 409 : 201)),
    )
  })

  test('registrations into a version that is being deleted fail, and concurrent registrations into other versions succeed', async () => {
    const { app } = await anApplication(admin, ['v1', 'v2'])
    const register = (n: number) => admin(`POST ${endpoints}`, { appVersion: { name: `${app}-v${1 + (n % 2)}` } })
    const [deleted, ...answers] = await Promise.all([
      admin(`DELETE /api/v1/applications/${app}/app-versions/${app}-v2`),
      ...numbers.map(register),
    ])
    assert.ok([204, 409].includes(deleted!.status), deleted!.text)
    for (const [n, { status, text }] of answers.entries())
      assert.ok(status === 201 || (n % 2 === 1 && status === 400), text)
  })
})

suite('shared transactions', () => {
  const requests = ['a1', 'a2', 'a3', 'a1', 'b1']
  const open = (together: (group: string[]) => Promise<string[]>) => {
    const groups: string[][] = []
    const run = createSharedTransactions<string, string>({
      keyOf: (request) => request[0]!,
      idOf: (request) => request,
      together(group) {
        groups.push(group)
        return together(group)
      },
      async alone(request) {
        groups.push([request])
        if (request === 'a2') throw new Error('bad')
        return `alone ${request}`
      },
    })
    return { run, groups }
  }

  test('shared transactions contain requests of one key with distinct ids, in order', async () => {
    const { run, groups } = open(async (group) => group.map((request) => `shared ${request}`))
    const answers = await Promise.all(requests.map(run))
    assert.deepEqual(answers, ['alone a1', 'shared a2', 'shared a3', 'shared a1', 'alone b1'])
    assert.deepEqual(groups.slice(2), [['a2', 'a3', 'a1']])
  })

  test('the next shared transaction begins before the callers of the previous transaction get their results', async () => {
    const steps: string[] = []
    const run = createSharedTransactions<string, string>({
      keyOf: () => '',
      idOf: (request) => request,
      async together(group) {
        steps.push(`begin ${group.join()}`)
        return group
      },
      alone: async (request) => request,
    })
    await Promise.all(['1', '2', '3', '2', '3'].map((request) => run(request).then((answer) => steps.push(answer))))
    assert.deepEqual(steps, ['1', 'begin 2,3', 'begin 2,3', '2', '3', '2', '3'])
  })

  test('when a shared transaction fails, each of its requests runs again in a transaction of its own', async () => {
    const { run } = open(() => Promise.reject(new Error('one of them is bad')))
    const results = await Promise.allSettled(requests.map(run))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
    )
  })

  test('shared transactions whose connection broke are not repeated, because they may have been committed', async () => {
    const broken = Object.assign(new Error('connection lost'), { code: 'CONNECTION_CLOSED' })
    const { run, groups } = open(() => Promise.reject(broken))
    const results = await Promise.allSettled(requests.map(run))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.equal(groups.filter(([first]) => first === 'a2').length, 1)
  })
})
