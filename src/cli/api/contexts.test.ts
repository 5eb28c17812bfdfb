import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextNamed } from './contexts.ts'

test('a context exists only if it was stored, also if its name is that of a property of every object', () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    const context = { url: 'http://127.0.0.1:9', tenant: 'default' }
    assert.equal(contextNamed({ contexts: {} }, name), undefined)
    assert.equal(
      contextNamed({ contexts: JSON.parse(`{"${name}": ${JSON.stringify(context)}}`) }, name)?.url,
      context.url,
    )
  }
  assert.equal(contextNamed({ contexts: {} }, undefined), undefined)
})
