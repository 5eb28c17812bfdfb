/**
 * A linked list of the messages that were sent and not acknowledged yet, in the order of sending. The list usually has one entry and rarely
 * more than a few dozen. A map would rebuild its hash table every few messages.
 */
import type { Outgoing, Session } from './state.ts'

export function addInFlight(session: Session, outgoing: Outgoing) {
  outgoing.next = undefined
  if (session.lastInFlight) session.lastInFlight.next = outgoing
  else session.firstInFlight = outgoing
  session.lastInFlight = outgoing
  session.inFlight++
}

export function findInFlight(session: Session, packetId: number): Outgoing | undefined {
  let outgoing = session.firstInFlight
  while (outgoing && outgoing.packetId !== packetId) outgoing = outgoing.next
  return outgoing
}

export function removeInFlight(session: Session, outgoing: Outgoing) {
  let previous: Outgoing | undefined
  for (let current = session.firstInFlight; current !== outgoing; current = current.next) {
    if (!current) return
    previous = current
  }
  if (previous) previous.next = outgoing.next
  else session.firstInFlight = outgoing.next
  if (session.lastInFlight === outgoing) session.lastInFlight = previous
  outgoing.next = undefined
  session.inFlight--
}

export function listInFlight(session: Session): Outgoing[] {
  const all: Outgoing[] = []
  for (let current = session.firstInFlight; current; current = current.next) all.push(current)
  return all
}

export function clearInFlight(session: Session) {
  session.firstInFlight = undefined
  session.lastInFlight = undefined
  session.inFlight = 0
}
