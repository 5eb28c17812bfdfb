import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { rejectsWith, sendTo } from '../../../test/harness/device-messages.ts'
import { timeSynchronisation } from './device.ts'

suite('tsx', () => {
  const at = (moment: string) => sendTo(timeSynchronisation(() => new Date(moment)))
  const timeIn = async (timezone: string, moment: string) => {
    const answer = await at(moment)('', { timezone })
    return answer!.payload as { timestamp: number; time: string; timezone: string }
  }
  const winter = at('2026-01-15T12:00:00.123Z')

  test('tsx returns the current time, with or without a request id', async () => {
    const utc = { timestamp: 1768478400123, time: '2026-01-15T12:00:00.123+00:00', timezone: 'UTC' }
    for (const payload of ['', {}, { timezone: null }])
      assert.deepEqual(await winter('', payload), { payload: utc, always: true })
    assert.deepEqual(await winter('', '', { requestId: 0 }), { payload: utc, always: true })
  })

  const zones: [timezone: string, winter: string, summer: string][] = [
    ['Pacific/Easter', '2026-01-15T07:00:00.123-05:00', '2026-07-15T06:00:00.123-06:00'],
    ['Europe/Kyiv', '2026-01-15T14:00:00.123+02:00', '2026-07-15T15:00:00.123+03:00'],
    ['Asia/Kathmandu', '2026-01-15T17:45:00.123+05:45', '2026-07-15T17:45:00.123+05:45'],
    ['America/St_Johns', '2026-01-15T08:30:00.123-03:30', '2026-07-15T09:30:00.123-02:30'],
    ['Pacific/Kiritimati', '2026-01-16T02:00:00.123+14:00', '2026-07-16T02:00:00.123+14:00'],
    ['+05:30', '2026-01-15T17:30:00.123+05:30', '2026-07-15T17:30:00.123+05:30'],
    ['utc', '2026-01-15T12:00:00.123+00:00', '2026-07-15T12:00:00.123+00:00'],
  ]
  for (const [timezone, inWinter, inSummer] of zones)
    test(`tsx supports ${timezone}, in winter and in summer`, async () => {
      const timestamp = 1768478400123
      assert.deepEqual(await timeIn(timezone, '2026-01-15T12:00:00.123Z'), { timestamp, time: inWinter, timezone })
      assert.equal((await timeIn(timezone, '2026-07-15T12:00:00.123Z')).time, inSummer)
    })

  test('tsx returns the same instant in every time zone', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
        async (timezone, moment) => {
          const { timestamp, time } = await timeIn(timezone, moment.toISOString())
          assert.equal(timestamp, moment.getTime())
          assert.equal(new Date(time).getTime(), moment.getTime())
        },
      ),
    ))

  const bad: [payload: unknown, problem: RegExp][] = [
    [{ timezone: 'Mars/Olympus' }, /timezone: expected a time zone/],
    [{ timezone: '' }, /timezone: expected a time zone/],
    [{ timezone: 5 }, /timezone: expected a string/],
    [{ timezone: 'x'.repeat(65) }, /timezone: expected at most/],
    ['Europe/Kyiv', /malformed/],
    ['[]', /payload: expected an object/],
  ]
  for (const [payload, problem] of bad)
    test(`tsx rejects ${JSON.stringify(payload).slice(0, 40)}`, async () => {
      const error = await rejectsWith(winter('', payload), 400)
      assert.match(error.message, problem)
    })

  test('tsx has no other resource, and its messages are not in the traffic log', async () => {
    for (const path of ['/', '/json', '/time']) await rejectsWith(winter(path), 404)
    assert.equal(timeSynchronisation(() => new Date(0)).unrecorded, true)
  })
})
