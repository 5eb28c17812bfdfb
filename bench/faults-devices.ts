/**
 * Devices send over MQTT 3.1.1, MQTT 5 and HTTP during failures. The run ends with an error unless each acknowledged message is stored
 * exactly once, in its series, and no rejected message is stored.
 */
import { fullDisk, slowDisk } from '../test/faults/disk.ts'
import { killDeviceRounds } from '../test/faults/kill-under-device-load.ts'
import { inRounds, roundsFigure } from './kill-rounds.ts'
import { withTemporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'

export async function faultsDevices(): Promise<Figure[]> {
  const killed = await inRounds(killDeviceRounds)
  const full = await withTemporaryDirectory((directory) => fullDisk({ directory }))
  const slow = await withTemporaryDirectory((directory) => slowDisk({ directory }))
  return [
    roundsFigure('Rounds of kill -9 of server, database or both under load', killed),
    { name: 'Messages sent, all of them acknowledged in the end', value: killed.messages, unit: '' },
    { name: 'Messages that were sent more than once', value: killed.retransmitted, unit: '' },
    { name: 'Rejected messages, of which nothing is stored', value: killed.refused, unit: '' },
    {
      name: 'Points of the other messages, each found exactly once',
      value: killed.points,
      unit: '',
    },
    { name: 'Slots packed during the rounds', value: killed.packed, unit: '' },
    {
      name: 'Longest time without an acknowledgement',
      value: killed.slowestRecoverySeconds,
      unit: 's',
      limit: { max: 20 },
    },
    { name: 'Full disk: points, each found once in its series', value: full.points, unit: '' },
    { name: 'Full disk: messages acknowledged within 20 s', value: full.acknowledgedWhileFull, unit: '' },
    {
      name: 'Full disk: time until devices are served after space is free',
      value: full.slowestRecoverySeconds,
      unit: 's',
      limit: { max: 20 },
    },
    { name: 'Slow disk: a normal commit', value: slow.usualCommitMs, unit: 'ms' },
    { name: 'Slow disk: a slow commit', value: slow.slowCommitMs, unit: 'ms' },
    { name: 'Slow disk: messages', value: slow.acknowledgedPerSecond, unit: '/s' },
    { name: 'Slow disk: points, each found once in its series', value: slow.points, unit: '' },
    {
      name: 'Slow disk: time until devices are served after a stall',
      value: slow.slowestRecoverySeconds,
      unit: 's',
      limit: { max: 20 },
    },
  ]
}
