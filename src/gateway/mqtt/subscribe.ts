/** Handles SUBSCRIBE and UNSUBSCRIBE. A session that outlives the connection is saved before the acknowledgement is sent. */
import { Code } from './codes.ts'
import type { Subscribe } from './decode.ts'
import type { Qos, Subscription } from './host.ts'
import { acknowledge, enqueueAcknowledgement, failAcknowledgement, settleAcknowledgement } from './publish.ts'
import { subscriptionsOf } from './session.ts'
import type { Acknowledgement, Peer, Session } from './state.ts'
import { isShared } from './topics.ts'

const identifiersNotSupported = 0xa1

export function subscribe(peer: Peer, { packetId, subscriptions }: Subscribe) {
  const session = peer.session!
  const refusalCodes = subscriptions.map((subscription) => refusalCode(peer, session, subscription))
  const acceptable = subscriptions.filter((_, index) => refusalCodes[index] === undefined)
  const granted = acceptable.length > 0 ? peer.layer.host.subscribe(peer, acceptable) : []
  if (granted.length !== acceptable.length) throw new Error('a host has to answer each subscription')
  let next = 0
  const codes = refusalCodes.map((code) => code ?? granted[next++]!)
  for (const [index, subscription] of subscriptions.entries()) {
    const code = codes[index]!
    if (code > 2) continue
    session.subscriptions ??= new Map()
    const granted = subscription.qos === code ? subscription : { ...subscription, qos: code as Qos }
    session.subscriptions.set(subscription.filter, granted)
  }
  saveAndAcknowledge(peer, session, 0x90, packetId, codes)
}

function refusalCode(
  peer: Peer,
  session: Session,
  { filter, subscriptionIdentifier }: Subscription,
): number | undefined {
  const { offers, limits } = peer.layer
  if (isShared(filter) && !offers.sharedSubscriptions) return Code.sharedNotSupported
  if (subscriptionIdentifier !== undefined && !offers.subscriptionIdentifiers) return identifiersNotSupported
  const known = session.subscriptions
  if (known && known.size >= limits.subscriptionsMax && !known.has(filter)) return Code.quotaExceeded
  return undefined
}

export function unsubscribe(peer: Peer, packetId: number, filters: string[]) {
  const session = peer.session!
  const { host } = peer.layer
  const codes = filters.map((filter) =>
    session.subscriptions?.delete(filter) || host.concealsSubscription?.(peer, filter) ? 0 : Code.noSubscriptionExisted,
  )
  host.unsubscribe(peer, filters)
  saveAndAcknowledge(peer, session, 0xb0, packetId, codes)
}

function saveAndAcknowledge(peer: Peer, session: Session, header: number, packetId: number, codes: number[]) {
  if (!session.isStored) {
    acknowledge(peer, header, packetId, 0, codes)
    return
  }
  const entry: Acknowledgement = { header, packetId, code: 0, codes, bytes: 0, done: false, next: undefined }
  enqueueAcknowledgement(peer, entry)
  const { key, claim, expirySeconds } = session
  peer.layer.store.save(key, claim, { expirySeconds, subscriptions: subscriptionsOf(session) }).then(
    () => settleAcknowledgement(peer, entry),
    (error) => failAcknowledgement(peer, entry, error),
  )
}
