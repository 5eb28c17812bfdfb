import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlOf } from './dry-run.ts'

test('a dry run of a login masks its code and its verifier, and a field code of another operation stays visible', async () => {
  const url = 'http://127.0.0.1:9'
  const body = { grant_type: 'authorization_code', client_id: 'web', code: 'c-1', code_verifier: 'v-1' }
  const login = await curlOf(url, 'openid.tokens.create', { tenant_id: 'default', body })
  assert.ok(!/c-1|v-1/.test(login) && login.includes('code=********') && login.includes('client_id=web'), login)
  const snippet = await curlOf(url, 'snippets.create', { body: { name: 's', code: 'return 1' } })
  assert.ok(snippet.includes('return 1'), snippet)
})
