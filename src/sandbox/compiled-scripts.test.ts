import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedParts, createCompiledScripts, freeByte } from './compiled-scripts.ts'

const block = 4096

test('changed blocks are found inside and outside of the memory image, also blocks of zeros and an incomplete last block', () => {
  const image = [
    { at: block, bytes: new Uint8Array(2 * block).fill(1) },
    { at: 5 * block, bytes: new Uint8Array(block).fill(2) },
  ]
  const memory = new Uint8Array(9 * block + 100).fill(freeByte)
  for (const { at, bytes } of image) memory.set(bytes, at)
  assert.deepEqual(changedParts(memory, image, block), [])

  memory[0] = 9 // This byte is below the first address.
  memory[2 * block + 7] = 9
  memory.fill(0, 4 * block, 5 * block)
  memory[5 * block] = 9
  memory[9 * block + 99] = 9
  const changed = changedParts(memory, image, block)
  assert.deepEqual(
    changed.map(({ at, bytes }) => [at / block, bytes.length]),
    [
      [2, block],
      [4, 2 * block],
      [9, 100],
    ],
  )

  const restored = new Uint8Array(memory.length).fill(7)
  for (const { at, bytes } of [...image, ...changed]) restored.set(bytes, at)
  for (const { at, bytes } of changed) assert.deepEqual(restored.subarray(at, at + bytes.length), bytes)
  assert.equal(restored[2 * block + 8], 1)
})

test('a script counts as repeated at its second run, and compiled scripts are kept up to a memory limit', () => {
  const scripts = createCompiledScripts()
  assert.ok(!scripts.isRepeated('a'))
  assert.ok(scripts.isRepeated('a'))
  assert.ok(!scripts.isRepeated('b'))
  scripts.keep('a', { parts: [{ at: 0, bytes: new Uint8Array(10) }], value: 3 })
  assert.equal(scripts.find('a')?.value, 3)
  scripts.keep('b', { parts: [{ at: 0, bytes: new Uint8Array(2 * 1024 * 1024) }], value: 4 })
  assert.equal(scripts.find('b'), undefined)
  for (let n = 0; n < 20; n++) scripts.keep(`c${n}`, { parts: [{ at: 0, bytes: new Uint8Array(900_000) }], value: n })
  assert.equal(scripts.find('a'), undefined)
  assert.equal(scripts.find('c19')?.value, 19)
})
