/** Process that closes and packs slots of time series in a loop, until it is killed. */
import { sleep, systemClock } from '../../src/kernel/clock.ts'
import { createDb } from '../../src/kernel/db.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createMetrics } from '../../src/kernel/metrics.ts'
import { createNumbers } from '../../src/services/time-series/numbers/numbers.ts'
import { createPacker } from '../../src/services/time-series/pack/packer.ts'
import { createSlots } from '../../src/services/time-series/write/slots.ts'

const db = createDb({ url: process.argv[2]! }, { max: 4, name: 'waypost-test-packing' })
const slots = createSlots({ db, now: systemClock })
const packer = createPacker({
  db,
  slots,
  numbers: createNumbers(db, { seriesMax: 0 }),
  now: systemClock,
  log: await createLog({ level: 'silent', format: 'json' }),
  metrics: createMetrics(),
  retention: { firstDays: async () => new Map(), rerun() {} },
  afterPacking: async () => {},
})
for (;;) {
  try {
    await slots.rotate(true)
    await packer.round()
    process.stdout.write('.')
  } catch {
    // Packing failed, because the database is down or another process is packing. The loop tries again.
  }
  await sleep(50)
}
