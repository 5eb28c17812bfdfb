import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { killVpnRounds } from './vpn.ts'

test('after kill -9 of a node or of the VPN server, no address is assigned twice and no revoked client is accepted', async () => {
  const report = await killVpnRounds({ rounds: 2, seed: 20261117, directory: temporaryDirectory() })
  assert.ok(report.created > 5 && report.accepted === 2, JSON.stringify(report))
})
