import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutText, padText, textWidth } from './text-width.ts'

test('the width of a text is the number of terminal columns that it takes', () => {
  assert.equal(textWidth('Obst & Nüsse'), 12)
  assert.equal(textWidth('日本語'), 6)
  assert.equal(textWidth('e\u0301'), 1)
  assert.equal(textWidth('🌱 a'), 4)
})

test('a text is padded or cut to a number of terminal columns', () => {
  assert.equal(padText('日本', 6), '日本  ')
  assert.equal(padText('too long', 3), 'too long')
  assert.equal(cutText('abcdef', 4), 'abc…')
  assert.equal(cutText('日本語', 5), '日本…')
  assert.equal(cutText('日本語', 4), '日…')
  assert.equal(cutText('🌱🌱', 4), '🌱🌱')
})
