import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWaitNotice } from './wait-notice.ts'

/** Returns what is written while a command waits twice. */
function writtenTo(isTTY: boolean): string[] {
  const written: string[] = []
  const notice = createWaitNotice({ isTTY, write: (text) => written.push(text) })
  for (const host of ['slow.example.com:8080\u001b', 'other.example.com']) notice(host)
  return written
}

test('a terminal gets one line, even if several answers are slow; control characters of the host are visible', () => {
  assert.deepEqual(writtenTo(true), ['waypost: waiting for an answer from slow.example.com:8080\\u001b\n'])
})

test('nothing is written if standard error is not a terminal', () => {
  assert.deepEqual(writtenTo(false), [])
})
