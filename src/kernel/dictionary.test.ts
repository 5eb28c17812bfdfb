import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDictionary } from './dictionary.ts'

test('a dictionary accepts any key, and contains the entries that were set and not deleted, in order', () => {
  const dictionary = createDictionary<number>()
  const keys = ['b', 'a', '__proto__', 'constructor', '']
  for (const [index, key] of keys.entries()) {
    assert.deepEqual([dictionary.has(key), dictionary.get(key)], [false, undefined], key)
    dictionary.set(key, index)
  }
  dictionary.set('a', 9)
  assert.deepEqual([dictionary.keys(), dictionary.values(), dictionary.size], [keys, [0, 9, 2, 3, 4], 5])
  assert.deepEqual(
    [dictionary.delete('b'), dictionary.delete('b'), dictionary.delete('toString')],
    [true, false, false],
  )
  dictionary.set('b', 5)
  assert.deepEqual([dictionary.values(), dictionary.get('__proto__'), dictionary.size], [[9, 2, 3, 4, 5], 2, 5])
})
