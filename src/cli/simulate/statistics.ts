/** Counts the events of the simulation, for the line that is printed every few seconds. */
import { countText } from '../output.ts'

export interface Counts {
  acknowledged: number
  commands: number
  configurations: number
  updates: number
  reconnections: number
  errors: number
}

export interface Statistics {
  count(counter: keyof Counts): void
  /** Records how long the acknowledgement of a message took. */
  took(milliseconds: number): void
  /** Returns a line with the numbers since the previous line. */
  line(connected: number, devices: number, seconds: number): string
  totals(): Counts
}

/** Maximum number of recorded times. Each further time replaces a random one; 10,000 times are enough for quantiles. */
const recordedTimesMax = 10_000

export function createStatistics(): Statistics {
  const totals: Counts = { acknowledged: 0, commands: 0, configurations: 0, updates: 0, reconnections: 0, errors: 0 }
  let before = { ...totals }
  let times: number[] = []
  return {
    count(what) {
      totals[what]++
    },
    took(milliseconds) {
      if (times.length < recordedTimesMax) times.push(milliseconds)
      else times[Math.floor(Math.random() * recordedTimesMax)] = milliseconds
    },
    line(connected, devices, seconds) {
      const acknowledged = totals.acknowledged - before.acknowledged
      const sorted = times.toSorted((a, b) => a - b)
      const quantile = (share: number) => `${Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)} ms`
      before = { ...totals }
      times = []
      return [
        `${connected} of ${countText(devices, 'device')} connected`,
        `${(acknowledged / seconds).toFixed(1)} messages/s${sorted.length > 0 ? ` (p50 ${quantile(0.5)}, p99 ${quantile(0.99)})` : ''}`,
        totalsText(totals),
      ].join('; ')
    },
    totals: () => totals,
  }
}

export const totalsText = ({ acknowledged, commands, configurations, updates, reconnections, errors }: Counts) =>
  [
    `${countText(acknowledged, 'message')} acknowledged`,
    `${countText(commands, 'command')} answered`,
    `${countText(configurations, 'configuration')} applied`,
    `${countText(updates, 'update')} installed`,
    countText(reconnections, 'reconnection'),
    countText(errors, 'error'),
  ].join(', ')
