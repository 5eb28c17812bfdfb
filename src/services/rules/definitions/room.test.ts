import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'

const { admin, other, expectStatus, aRule, aTrigger, anAction } = await openRules({
  environment: { WAYPOST_RULES_MB_PER_TENANT: '1' },
})
const longScript = `return 1 //${'x'.repeat(60_000)}`

test('the rules, actions and triggers of a tenant have a maximum size, because nodes keep them in memory', async () => {
  const ids: string[] = []
  const create = (ask = admin) => ask(`POST ${rulesRoot}/rules`, { name: 'long', expression: longScript })
  let refused: Awaited<ReturnType<typeof create>> | undefined
  for (let n = 0; n < 30 && !refused; n++) {
    const answer = await create()
    if (answer.status !== 201) refused = answer
    else ids.push(String(answer.headers.location).split('/').at(-1)!)
  }
  assert.equal(refused?.status, 400)
  assert.equal(refused.headers['x-waypost-error'], 'too_many_definitions')
  assert.ok(ids.length >= 10 && ids.length <= 17, `${ids.length} rules`)
  // The limit applies to each tenant separately.
  assert.equal((await create(other)).status, 201)

  const metadata = { text: 'x'.repeat(100_000) }
  const trigger = { name: 'large', cronExpression: '0 0 1 1 *', metadata }
  const action = { name: 'large', webhookUrl: 'https://a.example', webhookPayloadExpression: longScript }
  for (const [path, body] of [
    ['/trigger-types/cron/triggers', trigger],
    ['/action-types/webhook/actions', action],
  ] as const)
    assert.equal((await admin(`POST ${rulesRoot}${path}`, body)).headers['x-waypost-error'], 'too_many_definitions')

  const [first, second] = ids
  await expectStatus(204, `PUT ${rulesRoot}/rules/${first}`, { name: 'short', expression: 'return 1' })
  const small = [await aRule(), await aTrigger('cron', { cronExpression: '0 0 1 1 *' }), await anAction('webhook')]
  assert.equal(small.length, 3)
  // A change cannot make a short object larger than the remaining space.
  await expectStatus(204, `PUT ${rulesRoot}/rules/${first}`, { name: 'long', expression: longScript })
  const grown = await admin(`PUT ${rulesRoot}/trigger-types/cron/triggers/${small[1]}`, trigger)
  assert.equal(grown.status, 400, grown.text)
  await expectStatus(204, `DELETE ${rulesRoot}/rules/${second}`)
  await expectStatus(204, `DELETE ${rulesRoot}/rules/${first}`)
  await expectStatus(204, `PUT ${rulesRoot}/trigger-types/cron/triggers/${small[1]}`, trigger)
})
