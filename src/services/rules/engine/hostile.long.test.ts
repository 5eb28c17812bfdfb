/** Tests hostile scripts in evaluations and executions, and their effect on other tenants. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostileScripts, hostTexts } from '../../../../test/harness/hostile-scripts.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { startUndisturbedTime } from '../../../../test/harness/undisturbed-time.ts'

const { admin, other, expectStatus, aRule } = await openRules()

// This test uses only scripts that end quickly. The bench of the sandbox runs all scripts with the limits of production.
const quick = hostileScripts.filter(
  ({ uses, fails }) => uses === 'steps' && !fails?.includes('TIMEOUT') && !fails?.includes('MEMORY'),
)

test('hostile scripts that fail get 400 in an evaluation and also fail in an execution; no result reveals values of the host', async () => {
  assert.ok(quick.length > 60)
  const pid = process.pid
  for (const { name, script } of quick.filter((_, index) => index % 3 === 0)) {
    const evaluated = await admin(`POST ${rulesRoot}/expressions/evaluation`, { expression: script })
    assert.ok(evaluated.status === 200 || evaluated.status === 400, `${name}: ${evaluated.status}`)
    assert.doesNotMatch(evaluated.text, hostTexts, name)
    if (evaluated.status === 200) continue
    const created = await admin(`POST ${rulesRoot}/rules`, { name: 'hostile', expression: script })
    if (created.status === 400) continue
    const ruleId = String(created.headers.location).split('/').at(-1)!
    const { body } = await expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/execute`, {})
    assert.equal(body.traces[0].outcome, 'FAILURE', name)
    assert.ok(body.traces[0].reason, name)
    assert.doesNotMatch(JSON.stringify(body), hostTexts, name)
  }
  assert.equal(process.pid, pid)
})

test('an endless loop ends with the stage TIMEOUT, and does not delay another tenant', async () => {
  const ruleId = await aRule({ expression: 'for (;;);' })
  const loop = expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/execute`, {})
  const undisturbedMs = startUndisturbedTime()
  for (let n = 0; n < 20; n++) {
    const { body } = await expectStatus(
      200,
      `POST ${rulesRoot}/expressions/evaluation`,
      { expression: `return ${n}` },
      other,
    )
    assert.equal(body, n)
  }
  assert.ok(undisturbedMs() < 4000, `${undisturbedMs()} ms`)
  const { traces } = (await loop).body
  assert.deepEqual([traces[0].outcome, traces[0].stage], ['FAILURE', 'TIMEOUT'])
})
