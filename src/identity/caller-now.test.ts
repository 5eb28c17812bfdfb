import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymousCaller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import type { Access } from './access.ts'
import { createCallerNow } from './caller-now.ts'

test('scripts that were stored while authentication was off have permissions only while authentication is off', async () => {
  const callerNow = (withoutAuthentication: 'none' | 'all' | string[]) =>
    createCallerNow({ platform: { withoutAuthentication } } as Kit, {} as Access)('default', anonymousCaller.subject)
  assert.equal(await callerNow('all'), anonymousCaller)
  assert.equal(await callerNow(['rules']), anonymousCaller)
  assert.equal(await callerNow('none'), undefined)
})
