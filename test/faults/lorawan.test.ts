import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killLorawanRounds } from './lorawan.ts'

test('after kill -9 of the node with the MQTT session of a LoRaWAN network, another node takes over the session, and each uplink becomes one sample', async () => {
  const report = await killLorawanRounds({ rounds: 2, seed: 20261117 })
  assert.ok(report.uplinks > 100 && report.commands === 2, JSON.stringify(report))
})
