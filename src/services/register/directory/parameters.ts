/** Parses the conditions that lists, counts and selections of jobs share. Each function throws a 400 that names the parameter. */
import { invalidField } from '../../../kernel/errors.ts'
import { listOf } from '../../../kernel/schema.ts'
import { timeOf, timeText } from '../../../kernel/times.ts'
import { wordsOf } from './document.ts'
import { type Connection, connections } from './query.ts'

export function timeOfParameter(given: string | number | undefined, field: string, now: Date): Date | undefined {
  if (given === undefined) return undefined
  const time = timeOf(given, now)
  if (time === undefined) throw invalidField(field, `expected ${timeText}`)
  return new Date(time)
}

export function readWords(search: string): string[] {
  const words = wordsOf(search)
  if (!words) throw invalidField('search', 'expected at most 5 words')
  return words
}

/** Parses connection states. Returns undefined if the parameter names none, which selects all states. */
export function connectionsOf(text: string | string[] | undefined): Connection[] | undefined {
  const states = listOf(text)
  for (const state of states ?? [])
    if (!connections.includes(state as Connection))
      throw invalidField('connection', 'expected never, disconnected or connected')
  return states && states.length > 0 ? [...new Set(states as Connection[])] : undefined
}
