import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import './start.ts'

/** Packages that only some requests need. Each package takes 1 to 40 MB of memory. */
const loadedOnDemand = ['nodemailer', 'oidc-provider', 'pino-pretty', 'quickjs-wasi']

test('a start loads no package that only some requests need', () => {
  const loaded = Object.keys(createRequire(import.meta.url).cache)
  assert.ok(loaded.some((file) => file.includes('/node_modules/fastify/')))
  for (const name of loadedOnDemand)
    assert.deepEqual(
      loaded.filter((file) => file.includes(`/node_modules/${name}/`)),
      [],
    )
})
