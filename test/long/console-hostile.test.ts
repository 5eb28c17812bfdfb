/** Opens pages of the console that show hostile names, metadata and payloads. The pages must show them as text and keep their layout. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkNarrow, openConsole, settled, type TestConsole } from '../harness/console.ts'
import { hostileTexts } from '../harness/hostile-texts.ts'

let console_: TestConsole
let page: Page
const dialogs: string[] = []

/** The platform rejects control characters in names, so these tests put them into metadata only. */
const isName = (text: string) => !/[\t\n]/.test(text)
const names = hostileTexts.filter(isName)
/** Long texts. The platform limits metadata to 64 KiB and messages to 1 MiB. */
const longText = `long ${'<b>x</b> '.repeat(6000)}`
const hugeMessage = {
  text: '<i>'.repeat(100_000),
  keys: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`<b>${n}</b>`, n])),
}

before(async () => {
  console_ = await openConsole()
  const { api, platform } = console_
  const created = async (operation: string, body: unknown) => {
    const answer = await api(operation, body)
    assert.ok(answer.status < 300, `${operation}: ${answer.text}`)
    return answer
  }
  const [name = ''] = names
  await created('POST /api/v1/applications', { name: 'meters', displayName: name })
  await created('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  for (const [number, text] of hostileTexts.entries())
    await created('POST /epr/api/v1/endpoints', {
      endpointId: `hostile-${number}`,
      appVersion: { name: 'meters-v1' },
      ...(number === 0 && { endpointToken: 'secret-of-hostile-0' }),
      metadata: { name: text, note: number === 0 ? longText : text, nested: [{ text }] },
    })
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, key) => [`key_${key}`, `<i>${key}</i>`]))
  await created('POST /epr/api/v1/endpoints', {
    endpointId: 'many',
    appVersion: { name: 'meters-v1' },
    metadata: { many },
  })
  for (const [number, text] of names.slice(0, 20).entries()) {
    await created('POST /iam/api/v1/users', {
      username: `user-${number}`,
      firstName: text.slice(0, 100),
      lastName: text.slice(0, 100),
    })
    await created('POST /iam/api/v1/roles', { name: `role-${number}`, description: text, scopes: ['endpoint:read'] })
    await created('POST /re/api/v1/rules', { name: text.slice(0, 100), expression: 'return true' })
  }
  for (const message of [hugeMessage, ...hostileTexts.map((text) => ({ text, [text.slice(0, 60)]: 1 }))]) {
    const sent = await fetch(`${platform.baseUrl}/kp1/meters-v1/dcx/secret-of-hostile-0/json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
    })
    await sent.body?.cancel()
  }
  page = await console_.open('/')
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
})

const paths = [
  '/',
  '/endpoints',
  '/endpoints?q=%3Cscript%3E',
  '/endpoints/hostile-0',
  ...['timeline', 'metadata', 'history', 'access'].map((tab) => `/endpoints/hostile-0?tab=${tab}`),
  '/endpoints/many?tab=metadata',
  ...hostileTexts.flatMap((_, number) => (number > 0 && number % 6 === 0 ? [`/endpoints/hostile-${number}`] : [])),
  '/filters',
  '/map?view=table',
  '/explore?application=meters&endpoints=hostile-0',
  '/commands',
  '/configuration',
  '/software',
  '/rules',
  '/alerts',
  '/applications',
  '/applications/meters',
  '/applications/meters/edit',
  '/users',
  '/roles',
  '/audit',
  '/jobs',
]

for (const path of paths)
  test(`${path} shows hostile texts as text`, async () => {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(console_.address(path))})`)
    await settled(page)
    assert.deepEqual(dialogs, [])
    assert.equal(await page.evaluate('window.wasRun'), undefined, 'the page must not run a text as a script')
    assert.equal(await page.locator('main script, main iframe, main object, main embed, main base').count(), 0)
    assert.ok((await page.locator('main').innerText()).length < 200_000, 'the page must shorten long texts')
    await checkNarrow(page, path)
    assert.deepEqual(console_.problems.splice(0), [])
  })

for (const text of names.slice(0, 12))
  test(`a page does not run a text of its address as a script: ${text.slice(0, 40)}`, async () => {
    console_.expect(/404/)
    for (const path of [
      `/endpoints/${encodeURIComponent(text)}`,
      `/no/${encodeURIComponent(text)}`,
      `/endpoints?q=${encodeURIComponent(text)}`,
    ]) {
      await page.goto(console_.address(path))
      await settled(page)
      assert.equal(await page.evaluate('window.wasRun'), undefined)
    }
    assert.deepEqual(dialogs, [])
    assert.deepEqual(console_.problems.splice(0), [])
  })
