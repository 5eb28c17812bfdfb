/**
 * Limits messages and bytes per second, for each connection and tenant. Messages of MQTT clients above the rate are read later; HTTP
 * requests are rejected with 429.
 */
import { type Bucket, drawTokens, newBucket, type Rate, returnTokens } from '../kernel/rate-limit.ts'

/**
 * The number of messages and bytes that a connection or tenant may send per second. After a silent second, it may send this much at once.
 */
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

/**
 * Counts a message that is handled even if the rate is exceeded. Returns the milliseconds until the rate is below the limit again, or 0 if
 * it is below.
 */
export function countTraffic(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const forMessage = drawTokens(traffic.messages, rate.messages, at)
  const forBytes = drawTokens(traffic.bytes, rate.bytes, at, bytes)
  return forMessage > forBytes ? forMessage : forBytes
}

/**
 * Counts a message and returns 0. If the rate is exceeded, does not count it and returns the milliseconds to wait. A single message may
 * have any size.
 */
export function admitMessage(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const wait = Math.max(drawTokens(traffic.messages, rate.messages, at), drawTokens(traffic.bytes, rate.bytes, at, 0))
  if (wait > 0) returnTokens(traffic.messages)
  else drawTokens(traffic.bytes, rate.bytes, at, bytes)
  return wait
}
