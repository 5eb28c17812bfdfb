import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseIndex } from './index-names.ts'

const namesOf = (index: string, tenantId = 'a-b') => {
  const parsed = parseIndex(index, tenantId)
  return parsed && 'candidates' in parsed ? parsed.candidates.map(({ applicationName }) => applicationName) : parsed
}
const datesOf = (index: string) => {
  const parsed = parseIndex(index, 't')
  const candidate = parsed && 'candidates' in parsed ? parsed.candidates.at(-1) : undefined
  return (
    candidate?.dates && [candidate.dates.from, candidate.dates.to].map((ms) => new Date(ms).toISOString().slice(0, 10))
  )
}

test('the longest application name is tried first, then shorter names that are followed by a date', () => {
  assert.deepEqual(namesOf('a-b-app'), ['app'])
  assert.deepEqual(namesOf('a-b-my-app-*'), ['my-app-*', 'my-app'])
  assert.deepEqual(namesOf('a-b-app-2026.03.01'), ['app-2026.03.01', 'app'])
  assert.deepEqual(namesOf('a-b-app-2026-03-01'), ['app-2026-03-01', 'app'])
  assert.deepEqual(namesOf('a-b-app-2026-2027'), ['app-2026-2027', 'app-2026'])
  assert.deepEqual(namesOf('a-b-app-01'), ['app-01'])
})

test('an index of another tenant is not found, even if one tenant id is a prefix of the other', () => {
  assert.equal(namesOf('a-app'), undefined)
  assert.equal(namesOf('a-bc-app'), undefined)
  assert.equal(namesOf('A-B-app'), undefined)
  assert.deepEqual(namesOf('a-b-', 'a-b'), [''])
})

test('a date in an index name is a year, a month or a day', () => {
  assert.deepEqual(datesOf('t-app-2026'), ['2026-01-01', '2027-01-01'])
  assert.deepEqual(datesOf('t-app-2026.12'), ['2026-12-01', '2027-01-01'])
  assert.deepEqual(datesOf('t-app-2026-02*'), ['2026-02-01', '2026-03-01'])
  assert.deepEqual(datesOf('t-app-2026.02.*'), ['2026-02-01', '2026-03-01'])
  assert.deepEqual(datesOf('t-app-2026.02.28'), ['2026-02-28', '2026-03-01'])
  assert.equal(datesOf('t-app-*'), undefined)
  assert.deepEqual(namesOf('t-app-2026.02.31', 't'), ['app-2026.02.31'])
})

test('the index names for all applications and for traffic statistics are recognised', () => {
  assert.deepEqual(parseIndex('t-*', 't'), { all: true })
  for (const word of ['platform', 'kaa'])
    assert.deepEqual(parseIndex(`t-${word}-system-traffic-statistics`, 't'), { statistics: true })
  assert.deepEqual(parseIndex('t-kaa-system-traffic-statistics-*', 't'), { statistics: true })
})
