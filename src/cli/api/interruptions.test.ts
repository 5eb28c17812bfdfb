import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInterruptionNotice } from './interruptions.ts'

test('each interruption of a stream is reported once, and each reconnection is reported once', () => {
  const texts: string[] = []
  const notice = createInterruptionNotice((text) => texts.push(text))
  const interrupted = (reason: string) => ({ type: 'interrupted', reason })
  for (const event of [
    { type: 'open' },
    interrupted('stopping\u001b[31m'),
    interrupted('refused'),
    interrupted('refused'),
    { type: 'open' },
    { type: 'items' },
    interrupted('aborted'),
  ])
    notice(event)
  assert.deepEqual(texts, [
    'waypost: interrupted: stopping\\u001b[31m; reconnecting\n',
    'waypost: connected again\n',
    'waypost: interrupted: aborted; reconnecting\n',
  ])
})
