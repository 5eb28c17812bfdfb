import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aPlatformAdmin, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openCredentials, root } from '../../../test/harness/credentials.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { type CredentialState, credentialStates, isAllowed, targetStates } from './states.ts'

const { waypost, admin, publishedEvents, aBasicCredential, setState, logIn } = await openCredentials()
const other = waypost.as(aTenantAdmin('other'))

suite('creating basic credentials', () => {
  test('creating basic credentials returns all fields with the password, and a Location below the root path of the request', async () => {
    const { status, body, headers } = await admin(`POST ${root}/basic-credentials`, {
      username: 'UserA',
      password: 'pass word: @~',
      x: 1,
    })
    assert.equal(status, 201)
    const { id, createdDate, updatedDate, ...rest } = body
    assert.deepEqual(rest, { username: 'UserA', password: 'pass word: @~', state: 'Inactive' })
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.equal(createdDate, new Date(createdDate).toISOString())
    assert.equal(updatedDate, createdDate)
    assert.equal(headers.location, `http://waypost.test/api/v1/basic-credentials/${id}`)
    const alias = await admin('POST /ccm/api/v1/basic-credentials', {})
    assert.equal(alias.headers.location, `http://waypost.test/ccm/api/v1/basic-credentials/${alias.body.id}`)
  })

  test('creating basic credentials generates an absent username and password, which authenticate', async () => {
    const [one, two] = [await aBasicCredential(), await aBasicCredential()]
    assert.match(one.username, /^[A-Za-z0-9]{10}$/)
    assert.match(one.password, /^[\w-]{43}$/)
    assert.notEqual(one.username, two.username)
    assert.notEqual(one.password, two.password)
    assert.deepEqual(await logIn(one), { credentialId: one.id })
    const created = await aBasicCredential({ username: 'only the name' })
    assert.equal(created.username, 'only the name')
  })

  test('creating basic credentials accepts an absent body, but not null', async () => {
    const { status, body } = await admin(`POST ${root}/basic-credentials`)
    assert.equal(status, 201)
    assert.ok(body.username && body.password)
    assert.equal((await admin(`POST ${root}/basic-credentials`, 'null')).status, 400)
  })

  test('creating basic credentials stores the password only as a bcrypt hash and never returns it again', async () => {
    const { id, password } = await aBasicCredential({ password: 'findme-4711' })
    const [row] = await waypost.kit.db.sql`select * from credentials.basic where id = ${id}`
    assert.match(row!.passwordHash, /^\$2b\$\d\d\$.{53}$/)
    assert.ok(!JSON.stringify(row).includes(password))
    for (const path of ['', `/${id}`]) {
      const { text } = await admin(`GET ${root}/basic-credentials${path}`)
      assert.ok(!/password|2b\$/.test(text), text)
    }
    assert.ok(!JSON.stringify(publishedEvents).includes(password))
  })

  test('creating basic credentials accepts texts of the maximum length and every printable character', async () => {
    const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')
    for (const body of [
      { username: 'u'.repeat(255), password: 'p'.repeat(72) },
      { username: printable.replace(/[:@]/g, ''), password: printable.slice(0, 72) },
      { username: '__proto__', password: printable.slice(72) },
    ]) {
      const created = await aBasicCredential(body)
      assert.equal(created.username, body.username)
      assert.deepEqual(await logIn(body), { credentialId: created.id })
    }
  })

  test('creating basic credentials rejects invalid input and names the field', async () => {
    const cases: [unknown, string][] = [
      [{ username: '' }, 'username'],
      [{ username: 'a:b' }, 'username'],
      [{ username: 'a@b' }, 'username'],
      [{ username: 'é' }, 'username'],
      [{ username: 'u'.repeat(256) }, 'username'],
      [{ username: 'new\nline' }, 'username'],
      [{ username: 'trailing\n' }, 'username'],
      [{ username: 'nul\0' }, 'username'],
      [{ username: '\x7f' }, 'username'],
      [{ username: null }, 'username'],
      [{ username: 7 }, 'username'],
      [{ password: '' }, 'password'],
      [{ password: 'p'.repeat(73) }, 'password'],
      [{ password: 'pässword' }, 'password'],
      [{ password: '\u{1f511}' }, 'password'],
      [{ password: 'tab\t' }, 'password'],
      [{ password: null }, 'password'],
      [{ password: { length: 3 } }, 'password'],
      [[], 'body'],
      ['null', 'body'],
      ['"text"', 'body'],
      ['{', 'body'],
    ]
    const before = (await admin(`GET ${root}/basic-credentials`)).body.length
    for (const [body, field] of cases) {
      const answer = await admin(`POST ${root}/basic-credentials`, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(answer.body.message, new RegExp(`^${field}`), JSON.stringify(body))
    }
    assert.equal((await admin(`GET ${root}/basic-credentials`)).body.length, before)
  })

  test('creating basic credentials rejects a username that already exists in the tenant; another tenant may use the same username', async () => {
    await aBasicCredential({ username: 'taken' })
    const duplicate = await admin(`POST ${root}/basic-credentials`, { username: 'taken' })
    assert.equal(duplicate.status, 409)
    assert.deepEqual(duplicate.body, {
      message: 'Other credentials of the tenant have the username taken; choose another username',
    })
    await aBasicCredential({ username: 'taken' }, other)
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => admin(`POST ${root}/basic-credentials`, { username: 'contested' })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
  })
})

suite('reading basic credentials', () => {
  test('reading basic credentials lists the credentials of the tenant as an array, the oldest first', async () => {
    const lister = waypost.as(aTenantAdmin('lister'))
    const empty = await lister(`GET ${root}/basic-credentials`)
    assert.deepEqual([empty.status, empty.body], [200, []])
    assert.equal(empty.headers['content-type'], 'application/json; charset=utf-8')
    const created = [await aBasicCredential({}, lister), await aBasicCredential({}, lister)]
    const { body } = await lister(`GET ${root}/basic-credentials`)
    assert.deepEqual(
      body,
      created.map(({ password, ...rest }) => rest),
    )
    assert.deepEqual((await lister(`GET ${root}/basic-credentials/${created[0].id}`)).body, body[0])
  })

  test('reading basic credentials returns each credential once if there are more credentials than a page', async () => {
    const at = new Date('2026-01-01')
    await waypost.kit.db.sql`
      insert into credentials.basic (tenant_id, id, username, password_hash, state, created_date, updated_date)
      select 'crowded', 'id-' || n, 'user-' || n, '-', 'Active', ${at}::timestamptz + (n / 7) * interval '1 ms', ${at}
      from generate_series(1, 2500) n`
    const { body } = await waypost.as(aTenantAdmin('crowded'))(`GET ${root}/basic-credentials`)
    assert.equal(body.length, 2500)
    assert.equal(new Set(body.map(({ id }: { id: string }) => id)).size, 2500)
  })

  test('reading basic credentials returns the time of the last use only after the first use', async () => {
    const created = await aBasicCredential()
    assert.ok(!('lastUseDate' in (await admin(`GET ${root}/basic-credentials/${created.id}`)).body))
    await logIn(created)
    const { body } = await admin(`GET ${root}/basic-credentials/${created.id}`)
    assert.equal(body.lastUseDate, new Date(body.lastUseDate).toISOString())
    assert.equal(body.state, 'Active')
    assert.equal(body.updatedDate, body.lastUseDate)
  })
})

suite('the state of basic credentials', () => {
  /** Creates credentials and changes their state through valid transitions. */
  async function inState(state: CredentialState) {
    const created = await aBasicCredential()
    if (state === 'Active' || state === 'Suspended') await logIn(created)
    if (state === 'Suspended' || state === 'Revoked') await setState('basic-credentials', created.id, state)
    return created
  }

  test('the state of basic credentials changes only by the transitions of the specification, for every pair of states', async () => {
    for (const from of credentialStates)
      for (const to of targetStates) {
        const { id, username } = await inState(from)
        const before = (await admin(`GET ${root}/basic-credentials/${id}`)).body
        publishedEvents.length = 0
        const isAccepted = from === to || isAllowed(from, to, 'caller')
        const answer = await setState('basic-credentials', id, to, isAccepted ? 204 : 400)
        const after = (await admin(`GET ${root}/basic-credentials/${id}`)).body
        if (isAccepted && from !== to) {
          assert.equal(after.state, to)
          assert.ok(after.updatedDate >= before.updatedDate)
          const payload = { tenantId: 'default', credentialId: id, kind: 'basic', username, from, to }
          assert.deepEqual(publishedEvents, [{ event: 'credentials.credential.state-changed', payload }])
        } else {
          assert.deepEqual(after, before, `${from} → ${to}`)
          assert.deepEqual(publishedEvents, [])
          if (!isAccepted)
            assert.deepEqual(answer.body, {
              message: `state: the credentials are ${from} and cannot become ${to}: ${
                from === 'Revoked' ? 'Revoked is final' : 'they can become Active by their first use or Revoked'
              }`,
            })
        }
      }
  })

  test('a change of the state of basic credentials to an invalid state is rejected with the name of the field; Inactive is never valid', async () => {
    const { id } = await inState('Inactive')
    for (const body of [{ state: 'Inactive' }, { state: 'active' }, { state: null }, { state: ['Active'] }, {}]) {
      const answer = await admin(`PATCH ${root}/basic-credentials/${id}/state`, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(answer.body.message, /^state: /)
    }
    assert.equal((await admin(`PATCH ${root}/basic-credentials/${id}/state`, [])).status, 400)
  })
})

suite('password changes and deletion', () => {
  test('a password is changed to a given or generated password, and the old password is rejected', async () => {
    const created = await aBasicCredential({ password: 'first' })
    assert.ok(await logIn(created))
    const changed = await admin(`PATCH ${root}/basic-credentials/${created.id}/password`, { password: 'second' })
    assert.deepEqual([changed.status, changed.body], [200, { password: 'second' }])
    assert.equal(await logIn(created), undefined)
    assert.ok(await logIn({ ...created, password: 'second' }))
    const generated = await admin(`PATCH ${root}/basic-credentials/${created.id}/password`, {})
    assert.match(generated.body.password, /^[\w-]{43}$/)
    assert.ok(await logIn({ ...created, password: generated.body.password }))
    assert.equal(publishedEvents.at(-1)?.event, 'credentials.credential.password-changed')
    for (const password of ['', 'p'.repeat(73), 'é', 7, null]) {
      const answer = await admin(`PATCH ${root}/basic-credentials/${created.id}/password`, { password })
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, /^password: /)
    }
  })

  test('after credentials are deleted, they are not found, an event is published, and the username can be used again', async () => {
    const created = await aBasicCredential({ username: 'freed' })
    await logIn(created)
    assert.equal((await admin(`DELETE ${root}/basic-credentials/${created.id}`)).status, 204)
    const payload = { tenantId: 'default', credentialId: created.id, kind: 'basic', username: 'freed' }
    assert.deepEqual(publishedEvents.at(-1), { event: 'credentials.credential.deleted', payload })
    assert.equal(await logIn(created), undefined)
    assert.equal((await admin(`DELETE ${root}/basic-credentials/${created.id}`)).status, 404)
    await aBasicCredential({ username: 'freed' })
  })

  test('deleting a tenant deletes its credentials', async () => {
    const doomed = waypost.as(aTenantAdmin('doomed'))
    const created = await aBasicCredential({}, doomed)
    assert.ok(await logIn(created, { tenantId: 'doomed' }))
    await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'doomed' }))
    await waypost.kit.bus.settled()
    assert.deepEqual((await doomed(`GET ${root}/basic-credentials`)).body, [])
    assert.equal(await logIn(created, { tenantId: 'doomed' }), undefined)
    assert.deepEqual(publishedEvents.at(-1), { event: 'credentials.tenant.forgotten', payload: { tenantId: 'doomed' } })
  })
})

suite('permissions', () => {
  const operations = (id: string): [string, string, object?][] => [
    ['read', `GET ${root}/basic-credentials`],
    ['create', `POST ${root}/basic-credentials`, {}],
    ['read', `GET ${root}/basic-credentials/${id}`],
    ['update', `PATCH ${root}/basic-credentials/${id}/state`, { state: 'Revoked' }],
    ['update', `PATCH ${root}/basic-credentials/${id}/password`, {}],
    ['update', `DELETE ${root}/basic-credentials/${id}`],
  ]

  test('each operation requires its scope on tenant-system', async () => {
    const scopes = ['create', 'read', 'update'].map((verb) => `tenant:basic-credentials:${verb}`)
    for (const [verb, operation, body] of operations((await aBasicCredential()).id)) {
      const needed = `tenant:basic-credentials:${verb}`
      const without = waypost.as(aCaller({ on: { 'tenant-system': scopes.filter((scope) => scope !== needed) } }))
      const onOtherResource = waypost.as(aCaller({ on: { 'application-a': scopes } }))
      for (const ask of [without, onOtherResource]) {
        const answer = await ask(operation, body)
        assert.equal(answer.status, 403, operation)
        assert.deepEqual(answer.body, { message: `The caller does not hold the scope ${needed} on tenant-system` })
      }
      assert.equal((await waypost.as(undefined)(operation, body)).status, 401, operation)
      const permitted = await waypost.as(aCaller({ on: { 'tenant-system': [needed] } }))(operation, body)
      assert.ok(permitted.status < 300, `${operation}: ${permitted.status}`)
    }
  })

  test('the response for credentials of another tenant is the same 404 as for missing credentials', async () => {
    const mine = await aBasicCredential()
    for (const ask of [other, waypost.as(aPlatformAdmin())]) {
      assert.ok(!(await ask(`GET ${root}/basic-credentials`)).text.includes(mine.id))
      for (const [, operation, body] of operations(mine.id).slice(2)) {
        const hidden = await ask(operation, body)
        const missing = await ask(operation.replace(mine.id, 'nothing'), body)
        assert.equal(hidden.status, 404, operation)
        assert.equal(hidden.text.replace(mine.id, 'nothing'), missing.text)
      }
    }
    assert.ok(await logIn(mine))
    assert.equal(await logIn(mine, { tenantId: 'other' }), undefined)
  })
})
