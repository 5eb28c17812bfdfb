/** Reduces the memory of requests that wait, because ten thousand callers can wait at the same time. */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'

/** The credentials of requests that have begun to wait in the last minute. */
const recentCredentials = new Map<string, string>()
const recentMax = 1000
/** Credentials are not kept in memory for long, so that a dump of the memory contains few of them. */
const recentMs = 60_000
let clearing: NodeJS.Timeout | undefined

/**
 * Removes the data of a request that is no longer needed once its handler has read the data: the body, and the request's own copy of the
 * credentials. A token of one kilobyte is the largest part of a request without a body, and many requests have the same token.
 */
export function releaseWhileWaiting({ raw }: { raw: FastifyRequest }) {
  raw.body = undefined
  shareCredentials(raw.raw)
}

function shareCredentials({ headers, rawHeaders }: IncomingMessage) {
  const { authorization } = headers
  if (authorization === undefined) return
  const shared = recentCredentials.get(authorization) ?? authorization
  if (recentCredentials.size < recentMax) recentCredentials.set(shared, shared)
  if (clearing === undefined) clearing = setTimeout(clear, recentMs).unref()
  headers.authorization = shared
  for (let index = 1; index < rawHeaders.length; index += 2)
    if (rawHeaders[index] === shared) rawHeaders[index] = shared
}

function clear() {
  recentCredentials.clear()
  clearing = undefined
}
