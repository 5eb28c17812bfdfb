import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalScopes, heldScopes, scopePattern, splitScopes } from './scopes.ts'

const spellings: [given: string, kept: string][] = [
  ['endpoint:read', 'endpoint:read'],
  ['kaa:tenant:read', 'platform:tenant:read'],
  ['kaa:tenant:role-scope-mapping:read', 'platform:tenant:idp-roles-scopes-mappings:read'],
  ['platform:tenant:role-version-mapping:update', 'platform:tenant:idp-roles-versions-mappings:update'],
  ['platform:tenant:idp-roles-versions-mappings:update', 'platform:tenant:idp-roles-versions-mappings:update'],
  ['platform:tenant:role-version:read', 'platform:tenant:role-version:read'],
  ['kaatic:read', 'kaatic:read'],
  ['*', '*'],
]
test('a scope is stored in its canonical spelling', () => {
  for (const [given, kept] of spellings) assert.deepEqual(canonicalScopes([given, kept]), [kept], given)
})

test('a subject that has a scope in one spelling also has it in the other spelling', () => {
  const both = ['platform:tenant:idp-roles-scopes-mappings:read', 'platform:tenant:role-scope-mapping:read']
  for (const one of [...both, 'kaa:tenant:role-scope-mapping:read'])
    assert.deepEqual([...heldScopes([one])].sort(), both, one)
})

test('platform scopes of a role apply to the platform, all other scopes to the tenant', () => {
  assert.deepEqual(splitScopes(['kaa:tenant:read', 'endpoint:read', 'platform:tenant:read', '*']), {
    scopes: ['*', 'endpoint:read'],
    platformScopes: ['platform:tenant:read'],
  })
})

test('a scope consists of words separated by colons', () => {
  for (const good of ['*', 'endpoint:read', 'time-series:read', 'application:endpoints-metadata-keys:read', 'x509'])
    assert.match(good, new RegExp(scopePattern, 'u'), good)
  for (const bad of ['', 'a:*', '**', 'A:read', 'a b', 'a:', ':a', 'a::b', 'a\n', 'endpoint:read '])
    assert.doesNotMatch(bad, new RegExp(scopePattern, 'u'), bad)
})
