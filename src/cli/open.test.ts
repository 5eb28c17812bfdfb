import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pagePath, pages } from './open.ts'

/** The module with the pages of the console. A static import would check the console with the TypeScript settings of this program. */
const registry = new URL('../../console/src/pages/registry.ts', import.meta.url).href
const { pages: consolePages } = (await import(registry)) as { pages: { path: string; realm?: string }[] }

test('every page that the command opens is a page of the console, in the same realm', () => {
  const known = new Map(consolePages.map(({ path, realm }) => [path.replace(/:\w+/g, ':'), realm]))
  for (const [noun, { paths, realm }] of Object.entries(pages))
    for (const path of paths) {
      assert.ok(known.has(path), `${noun}: the console has no page ${path}`)
      assert.equal(known.get(path), realm, `${noun}: ${path}`)
    }
})

test('ids are encoded in the address; for a wrong noun or a wrong number of ids, the error names the allowed values', () => {
  assert.equal(pagePath('endpoints', ['a/b?c#d']).path, '/endpoints/a%2Fb%3Fc%23d')
  assert.equal(pagePath('endpoint-filters', ['meadow', 'f 1']).path, '/filters/meadow/f%201')
  assert.deepEqual(pagePath('tenants', ['acme']), { path: '/tenants/acme', realm: 'platform' })
  assert.equal(pagePath('overview', []).path, '/')
  for (const [noun, ids, message] of [
    ['endpoint', ['a'], /no page of endpoint; it has .*endpoints/],
    ['__proto__', [], /no page of __proto__/],
    ['endpoints', ['a', 'b'], /endpoints takes 0 or 1 ids, not 2/],
    ['software', ['meadow'], /software takes 0 or 2 ids, not 1/],
    ['endpoints', ['..'], /only dots/],
    ['endpoints', [''], /empty/],
  ] as const)
    assert.throws(() => pagePath(noun, ids), message)
})
