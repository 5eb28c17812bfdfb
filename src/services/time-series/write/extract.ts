/** Extracts values of series from a sample: the values that the plan names, and every top-level number (document 3, 3.2). */

import { timeMax, timeMin, timeOfText } from '../../../kernel/times.ts'
import { defaultValueName, seriesName } from '../configuration.ts'
import { fieldOf } from '../numbers/field.ts'
import type { Value } from '../points.ts'
import type { Plan, ValueType } from './extraction-plan.ts'

export interface Extracted {
  /** Milliseconds since 1970; undefined means the time of arrival. */
  at: number | undefined
  /** Series and value name of each value, joined by `fieldOf`. */
  fields: string[]
  values: Value[]
}

/** The reason why a sample cannot be stored. */
export interface Rejection {
  problem: string
}

export const autoPrefix = 'auto~'
const textLengthMax = 65_536

/** Extracts the values. A sample without a time of its own gets `sampleTime`, or the time of arrival if `sampleTime` is undefined. */
export function extract(plan: Plan, sample: unknown, sampleTime?: number): Extracted | Rejection {
  const time = timeOf(plan.time, sample) ?? sampleTime
  // Document 3, 3.1: the fallback `fail` drops the points of a sample without a time.
  if (time === undefined && plan.time.fallback === 'fail') return { at: undefined, fields: [], values: [] }
  const fields: string[] = []
  const values: Value[] = []
  for (const { name, values: planned } of plan.series)
    for (const plannedValue of planned) {
      const value = lookUp(sample, plannedValue.path)
      if (value === undefined) continue
      const problem = valueProblem(value, plannedValue.type)
      if (problem) return { problem: `${plannedValue.path.join('.')}: ${problem} (series ${name})` }
      fields.push(fieldOf(name, plannedValue.name))
      values.push(value as Value)
    }
  if (plan.auto && typeof sample === 'object' && sample !== null && !Array.isArray(sample)) {
    const timeKey = plan.time.path.length === 1 ? plan.time.path[0] : undefined
    for (const key of Object.keys(sample)) {
      const value = (sample as Record<string, unknown>)[key]
      if (typeof value !== 'number' || key === timeKey || !seriesName.test(key)) continue
      if (!Number.isFinite(value)) return { problem: `${key}: larger than any number that can be stored` }
      fields.push(fieldOf(autoPrefix + key, defaultValueName))
      values.push(value)
    }
  }
  return { at: time, fields, values }
}

/** Returns the reason why a value cannot be stored as this type, or undefined. */
export function valueProblem(found: unknown, type: ValueType | undefined): string | undefined {
  if (found === null) return undefined
  const actualType = typeof found
  if (actualType !== 'number' && actualType !== 'string' && actualType !== 'boolean')
    return 'expected a number, a text, true, false or null'
  if (type !== undefined && actualType !== type) return `expected a ${type}, found a ${actualType}`
  if (actualType === 'number' && !Number.isFinite(found)) return 'larger than any number that can be stored'
  if (actualType === 'string' && (found as string).length > textLengthMax)
    return `longer than ${textLengthMax} characters`
  return undefined
}

function lookUp(sample: unknown, path: string[]): unknown {
  let current = sample
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined
    current = (current as Record<string, unknown>)[part]
  }
  return current
}

function timeOf({ path, format }: Plan['time'], sample: unknown): number | undefined {
  const rawTime = lookUp(sample, path)
  const time = rawTime === undefined ? undefined : readTime(rawTime, format)
  return time !== undefined && time >= timeMin && time <= timeMax ? time : undefined
}

function readTime(rawTime: unknown, format: Plan['time']['format']): number | undefined {
  if (format === 'unix-epoch') return typeof rawTime === 'number' ? Math.round(rawTime * 1000) : undefined
  if (typeof rawTime === 'number') return format === 'iso8601' ? undefined : Math.round(rawTime)
  if (typeof rawTime !== 'string' || format === 'millis-unix-epoch') return undefined
  return timeOfText(rawTime)
}
