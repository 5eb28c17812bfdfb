import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import { createCollect } from './collect.ts'
import type { TimeSeries } from './contract.ts'
import { createNames, type Names } from './names.ts'
import { createPlans, type Plans } from './plans.ts'
import { createPutPoints } from './put-points.ts'
import { createSlots, type Slots } from './write/slots.ts'
import { createWriter, writesAtOnce } from './write/writer.ts'

export interface TimeSeriesService {
  api: TimeSeries
  names: Names
  plans: Plans
  slots: Slots
  start(): Promise<void>
  stop(): Promise<void>
}

const seriesMax = 10_000

export function createTimeSeries(kit: Kit, applications: Applications): TimeSeriesService {
  const { bus, log, metrics, now } = kit
  const db = kit.db.open({ max: writesAtOnce, name: 'waypost-series' })
  const names = createNames(kit.db, { seriesMax })
  const plans = createPlans(kit, applications)
  const slots = createSlots(kit)
  const writer = createWriter({ db, slots, now, log, metrics })
  bus.onGap(() => {
    names.forgetAll()
    slots.forget()
  })
  return {
    api: { collect: createCollect({ plans, names, writer }), putPoints: createPutPoints({ names, writer }) },
    names,
    plans,
    slots,
    async start() {
      await slots.current()
    },
    stop: () => writer.drained(),
  }
}
