import assert from 'node:assert/strict'
import { test } from 'node:test'
import { returnBuffer, takeBuffer } from './spare-buffers.ts'

test('a buffer that was returned is given to one later caller only', () => {
  const first = takeBuffer(20_000)
  assert.equal(first.length, 32_768)
  returnBuffer(first.subarray(5, 10))
  assert.equal(takeBuffer(30_000).buffer, first.buffer)
  assert.notEqual(takeBuffer(30_000).buffer, first.buffer)
})

test('a buffer over 1 MiB has exactly the requested size and is not kept', () => {
  const large = takeBuffer(1_500_000)
  assert.equal(large.length, 1_500_000)
  returnBuffer(large)
  assert.notEqual(takeBuffer(1_500_000).buffer, large.buffer)
})

test('at most four buffers of a size are kept', () => {
  const buffers = Array.from({ length: 6 }, () => takeBuffer(200_000))
  for (const buffer of buffers) returnBuffer(buffer)
  const again = Array.from({ length: 6 }, () => takeBuffer(200_000))
  assert.equal(again.filter((one) => buffers.some(({ buffer }) => buffer === one.buffer)).length, 4)
})
