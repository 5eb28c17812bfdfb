/** Limits messages and bytes a second, for each connection and tenant. MQTT clients above the rate are read later; HTTP gets 429. */
import { type Bucket, drawTokens, newBucket, type Rate, returnTokens } from '../kernel/rate-limit.ts'

/** The messages and bytes that a connection or tenant may send in a second; bursts are as large. */
export interface TrafficRate {
  messages: Rate
  bytes: Rate
}

export interface Traffic {
  messages: Bucket
  bytes: Bucket
}

const rateOf = (perSecond: number): Rate => ({ perSecond, burst: perSecond })

export const trafficRate = (messages: number, bytes: number): TrafficRate => ({
  messages: rateOf(messages),
  bytes: rateOf(bytes),
})

export const newTraffic = (rate: TrafficRate): Traffic => ({
  messages: newBucket(rate.messages),
  bytes: newBucket(rate.bytes),
})

/** Counts a message that is handled in any case. Returns the milliseconds until the rate is below the limit again; 0 if it is. */
export function countTraffic(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const forMessage = drawTokens(traffic.messages, rate.messages, at)
  const forBytes = drawTokens(traffic.bytes, rate.bytes, at, bytes)
  return forMessage > forBytes ? forMessage : forBytes
}

/** Counts a message and returns 0; if the rate is exceeded, returns the milliseconds to wait. A single message may have any size. */
export function admitMessage(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const wait = Math.max(drawTokens(traffic.messages, rate.messages, at), drawTokens(traffic.bytes, rate.bytes, at, 0))
  if (wait > 0) returnTokens(traffic.messages)
  else drawTokens(traffic.bytes, rate.bytes, at, bytes)
  return wait
}
