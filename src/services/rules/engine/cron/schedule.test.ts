import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSchedule } from './schedule.ts'

test('items become due in the order of their times, and each item once', () => {
  const schedule = createSchedule<string>()
  for (const time of [30, 10, 20]) schedule.set(`id ${time}`, `item ${time}`, time)
  schedule.set('never', 'never', undefined)
  assert.equal(schedule.first, 10)
  assert.deepEqual(schedule.takeDue(20), { item: 'item 10', time: 10 })
  assert.deepEqual(schedule.takeDue(20), { item: 'item 20', time: 20 })
  assert.equal(schedule.takeDue(20), undefined)
  assert.equal(schedule.get('id 10'), 'item 10')
})

test('an item that was replaced or deleted does not become due at its former time', () => {
  const schedule = createSchedule<string>()
  schedule.set('a', 'old', 10)
  schedule.set('a', 'new', 20)
  schedule.set('b', 'deleted', 10)
  schedule.delete('b')
  assert.deepEqual(schedule.takeDue(30), { item: 'new', time: 20 })
  assert.equal(schedule.takeDue(30), undefined)
})

test('many replacements of an item leave few outdated entries, even if the times of these entries are years ahead', () => {
  const schedule = createSchedule<number>()
  const inYears = 10 ** 12
  schedule.set('kept', -1, inYears - 1)
  for (let n = 0; n < 10_000; n++) schedule.set('a', n, inYears)
  for (let n = 0; n < 1000; n++) {
    schedule.set(`b ${n}`, n, inYears)
    schedule.delete(`b ${n}`)
  }
  assert.ok(schedule.size < 200, `${schedule.size} entries`)
  assert.deepEqual(schedule.takeDue(inYears), { item: -1, time: inYears - 1 })
  assert.deepEqual(schedule.takeDue(inYears), { item: 9999, time: inYears })
  assert.equal(schedule.takeDue(inYears), undefined)
})
