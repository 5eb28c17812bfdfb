/** Tests e-mails with a real mail server that requires STARTTLS and authentication. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openActions } from '../../../../test/harness/actions.ts'
import { aMailServer, type Reply } from '../../../../test/harness/mail-server.ts'

const server = await aMailServer({ user: 'mailer', password: 'pass word' })
const { run, waypost } = await openActions({
  environment: {
    WAYPOST_SMTP_URL: server.url.replace('pass word', 'pass%20word'),
    WAYPOST_SMTP_FROM: 'Waypost <alerts@example.org>',
  },
  emailRetries: { attemptsMax: 3, waitMs: 20, waitFactor: 2 },
})

const runInput = {
  recipientsExpression: 'ann@example.org',
  subjectExpression: 'Too hot',
  textExpression: 'It is 31 °C.',
}
const send = (results: Record<string, unknown> = {}, fields: Record<string, unknown> = {}) =>
  run('send-email', { fields, results: { ...runInput, ...results } })
/** Sends an e-mail that must arrive, and returns it. */
async function mailOf(results: Record<string, unknown>, fields?: Record<string, unknown>) {
  const outcome = await send(results, fields)
  assert.equal(outcome.outcome, 'SUCCESS', JSON.stringify(outcome))
  return server.mails.at(-1)!
}
const headersIn = (text: string) =>
  text
    .slice(0, text.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
const headerOf = (text: string, name: string) =>
  headersIn(text)
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trim())

suite('an e-mail', () => {
  test('an e-mail arrives encrypted, with authentication, sender, subject and text', async () => {
    const mail = await mailOf({})
    assert.deepEqual(
      [mail.isSecure, mail.user, mail.from, mail.to],
      [true, 'mailer', 'alerts@example.org', ['ann@example.org']],
    )
    assert.deepEqual(
      ['from', 'to', 'subject'].map((name) => headerOf(mail.text, name)),
      [['Waypost <alerts@example.org>'], ['ann@example.org'], ['Too hot']],
    )
    assert.match(headerOf(mail.text, 'message-id')[0]!, /^<[0-9a-f-]{36}@example\.org>$/)
    assert.match(headerOf(mail.text, 'content-type')[0]!, /^text\/plain; charset=utf-8/)
    assert.match(mail.text, /It is 31 =C2=B0C\./)
  })

  test('an e-mail has one to fifty recipients, as text or array, with or without names', async () => {
    for (const [recipients, expected] of [
      ['a@b.de, c@d.de;e@f.de', ['a@b.de', 'c@d.de', 'e@f.de']],
      ['Ann Lee <a@b.de>', ['a@b.de']],
      ['"Lee, Ann" <a@b.de>; c@d.de', ['a@b.de', 'c@d.de']],
      [
        ['Jürgen <j@b.de>', 'c+tag@sub.d.de'],
        ['j@b.de', 'c+tag@sub.d.de'],
      ],
      [Array.from({ length: 50 }, (_, n) => `u${n}@b.de`), Array.from({ length: 50 }, (_, n) => `u${n}@b.de`)],
    ] as const)
      assert.deepEqual((await mailOf({ recipientsExpression: recipients })).to, expected)
  })

  test('an e-mail can have HTML, JSON as text, and a literal array of recipients', async () => {
    const html = await mailOf({ textExpression: '<b>hot</b>' }, { contentType: 'HTML' })
    assert.match(headerOf(html.text, 'content-type')[0]!, /^text\/html/)
    assert.match((await mailOf({ textExpression: { t: 31 } })).text, /\{"t":31\}/)
    const outcome = await run('send-email', {
      fields: { ...runInput, recipientsExpression: '["x@b.de","y@b.de"]' },
    })
    assert.equal(outcome.outcome, 'SUCCESS')
    assert.deepEqual(server.mails.at(-1)!.to, ['x@b.de', 'y@b.de'])
  })

  test('an e-mail has an attachment, as an object or its JSON text', async () => {
    const attachment = {
      fileName: 'Bericht ä.csv',
      type: 'text/csv',
      payload: Buffer.from('a;b\n1;2\n').toString('base64'),
    }
    for (const value of [attachment, JSON.stringify(attachment)]) {
      const { text } = await mailOf({ attachmentExpression: value })
      assert.match(text, /Content-Type: text\/csv/i)
      assert.match(text, /Content-Disposition: attachment/i)
      assert.ok(text.includes(attachment.payload))
    }
    for (const nothing of [null, ''])
      assert.ok(!(await mailOf({ attachmentExpression: nothing })).text.includes('multipart'))
  })

  test('a subject with line breaks cannot add headers or recipients to an e-mail', async () => {
    const mail = await mailOf({ subjectExpression: 'hot\r\nBcc: evil@example.org\r\n\r\nbody' })
    assert.deepEqual(headerOf(mail.text, 'subject'), ['hot  Bcc: evil@example.org    body'])
    assert.deepEqual([mail.to, headerOf(mail.text, 'bcc')], [['ann@example.org'], []])
  })

  test('an e-mail in a test run is described and not sent', async () => {
    const count = server.mails.length
    const outcome = await run('send-email', { results: runInput, isTry: true })
    assert.deepEqual(outcome, {
      outcome: 'SUCCESS',
      wouldDo: { to: ['ann@example.org'], subject: 'Too hot', text: 'It is 31 °C.', contentType: 'TEXT' },
    })
    assert.equal(server.mails.length, count)
  })
})

suite('a wrong result fails the action, and nothing is sent', () => {
  const attachment = { fileName: 'a.txt', type: 'text/plain', payload: 'YQ==' }
  const cases: [string, unknown][] = [
    ['recipientsExpression', ''],
    ['recipientsExpression', []],
    ['recipientsExpression', null],
    ['recipientsExpression', 5],
    ['recipientsExpression', [5]],
    ['recipientsExpression', {}],
    ['recipientsExpression', 'ann'],
    ['recipientsExpression', 'ann@'],
    ['recipientsExpression', '@example.org'],
    ['recipientsExpression', 'a..b@example.org'],
    ['recipientsExpression', 'ann@exa mple.org'],
    ['recipientsExpression', 'ann@-x.org'],
    ['recipientsExpression', 'ann@example.org\r\nBcc: evil@example.org'],
    ['recipientsExpression', ['Ann\r\nBcc: evil@example.org <ann@example.org>']],
    ['recipientsExpression', 'Ann <ann@example.org'],
    ['recipientsExpression', 'Ann <ann@example.org> <b@example.org>'],
    ['recipientsExpression', 'ann@example.org, nobody'],
    ['recipientsExpression', Array.from({ length: 51 }, (_, n) => `u${n}@b.de`)],
    ['recipientsExpression', '<'.repeat(100_000)],
    ['subjectExpression', 5],
    ['subjectExpression', null],
    ['subjectExpression', {}],
    ['attachmentExpression', 5],
    ['attachmentExpression', 'no JSON'],
    ['attachmentExpression', []],
    ['attachmentExpression', {}],
    ['attachmentExpression', { ...attachment, fileName: '../etc/passwd' }],
    ['attachmentExpression', { ...attachment, fileName: 'a\\b' }],
    ['attachmentExpression', { ...attachment, fileName: 'a\r\nb' }],
    ['attachmentExpression', { ...attachment, fileName: '' }],
    ['attachmentExpression', { ...attachment, type: 'text' }],
    ['attachmentExpression', { ...attachment, type: 'text/plain\r\nx: y' }],
    ['attachmentExpression', { ...attachment, payload: 'ä' }],
    ['attachmentExpression', { ...attachment, payload: 5 }],
  ]
  for (const [attribute, value] of cases)
    test(`an e-mail with the ${attribute} ${JSON.stringify(value).slice(0, 60)} fails`, async () => {
      const count = server.mails.length
      const outcome = await send({ [attribute]: value })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION', JSON.stringify(outcome))
      assert.ok(outcome.reason.startsWith(`${attribute}: `), outcome.reason)
      assert.equal(server.mails.length, count)
    })
})

suite('a mail server', () => {
  const replies = (...list: Reply[]) => {
    server.message = () => list.shift()
  }
  const attemptsOf = ({ metadata }: { metadata?: Record<string, unknown> }) =>
    (metadata!.attempts as { status?: number }[]).map(({ status }) => status)

  test('a mail server that answers 4xx gets three attempts', async () => {
    replies([451, 'later'], [452, 'later'])
    const late = await send()
    assert.deepEqual([late.outcome, attemptsOf(late)], ['SUCCESS', [451, 452, 250]])
    replies([451, 'a'], [451, 'b'], [451, 'c'])
    const failed = await send()
    assert.deepEqual(attemptsOf(failed), [451, 451, 451])
    assert.match(failed.outcome === 'FAILURE' ? failed.reason : '', /answered 451.*\(attempt 3\)/)
    replies()
  })

  test('a mail server that answers 5xx gets one attempt', async () => {
    replies([554, 'spam'])
    const failed = await send()
    assert.deepEqual(attemptsOf(failed), [554])
    assert.match(failed.outcome === 'FAILURE' ? failed.reason : '', /answered 554 spam/)
    replies()
  })

  test('a mail server that refuses some recipients makes the action fail without a second e-mail', async () => {
    server.recipient = (address) => (address === 'gone@b.de' ? [550, 'no such user'] : undefined)
    const count = server.mails.length
    const outcome = await send({ recipientsExpression: ['here@b.de', 'gone@b.de'] })
    server.recipient = () => undefined
    assert.ok(outcome.outcome === 'FAILURE')
    assert.match(outcome.reason, /refused gone@b.de/)
    assert.equal(server.mails.length, count + 1)
  })

  test('a mail server that is down gets three attempts', async () => {
    const down = await openActions({
      environment: { WAYPOST_SMTP_URL: 'smtp://127.0.0.1:1' },
      emailRetries: { attemptsMax: 3, waitMs: 20, waitFactor: 2 },
    })
    const outcome = await down.run('send-email', { results: runInput })
    assert.ok(outcome.outcome === 'FAILURE')
    assert.match(outcome.reason, /did not answer: .*ECONNREFUSED.*\(attempt 3\)/)
  })

  test('an action without a configured mail server fails and names the setting', async () => {
    const without = await openActions()
    const outcome = await without.run('send-email', { results: runInput })
    assert.deepEqual(outcome, {
      outcome: 'FAILURE',
      stage: 'ACTION_EXECUTION',
      reason: 'no mail server is configured; the operator sets WAYPOST_SMTP_URL',
    })
    assert.equal((await without.waypost.kit.db.sql`select 1 from rules.deliveries`).length, 0)
  })
})

test('the default sender has the host of the base URL', async () => {
  const plain = await openActions({ environment: { WAYPOST_SMTP_URL: server.url.replace('pass word', 'pass%20word') } })
  assert.equal((await plain.run('send-email', { results: runInput })).outcome, 'SUCCESS')
  assert.equal(server.mails.at(-1)!.from, `waypost@${new URL(waypost.baseUrl).hostname}`)
})
