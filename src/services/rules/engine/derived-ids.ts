/** Derives ids from an event, so that an event that runs again after a crash gets the same ids. */
import { hash } from 'node:crypto'

const hexLength = 20

/** Returns a UUID that begins with the time, followed by hash digits (version 8 of RFC 9562). */
function uuidOf(atMs: number, digits: string): string {
  const time = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0').slice(-12)
  return `${time.slice(0, 8)}-${time.slice(8)}${endOf(digits)}`
}

function endOf(digits: string): string {
  const variant = '89ab'[Number.parseInt(digits[3]!, 16) & 3]
  return `-8${digits.slice(0, 3)}-${variant}${digits.slice(4, 7)}-${digits.slice(7, 19)}`
}

/** Returns the ids for a rule that an event starts: the id of the chain, and the id of the rule's trace. */
export function idsOfRun(atMs: number, eventId: string, ruleId: string): { traceId: string; id: string } {
  const digits = hash('sha256', `${eventId} ${ruleId}`, 'hex')
  return { traceId: uuidOf(atMs, digits), id: uuidOf(atMs, digits.slice(hexLength)) }
}

/** Returns an id that is derived from a time and other values, such as the id of a run and of its action. The id begins with the time. */
export const derivedId = (atMs: number, ...parts: (string | number)[]): string =>
  uuidOf(atMs, hash('sha256', parts.join(' '), 'hex'))

/**
 * Returns the id that a webhook carries (`X-Waypost-Delivery`). It is derived from the id of the action's run and from the body, so a
 * repeated run whose body has changed after an edit of the rule sends another id.
 */
export const idOfMessage = (runId: string, body: string): string =>
  runId.slice(0, lengthOfTime) + endOf(hash('sha256', `${runId} ${body}`, 'hex'))

/** Length of the time at the start of a UUID, with its hyphen. */
const lengthOfTime = 13
