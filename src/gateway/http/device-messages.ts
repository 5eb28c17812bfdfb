/**
 * Messages of devices over HTTP (document 3, 2.B): POST with the topic as path and the payload as body of any Content-Type. The response
 * has the status 200 or the status of the error. There is no client authentication, and there are no pushes.
 */
import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { monotonicMs } from '../../kernel/clock.ts'
import type { Extension } from '../../kernel/device.ts'
import type { ErrorFormat } from '../../kernel/error-formats.ts'
import { PlatformError, TooManyRequests } from '../../kernel/errors.ts'
import { bodyLimitBytes, compressionError } from '../../kernel/http/body.ts'
import type { Operation } from '../../kernel/http/routes.ts'
import { describedAs, Text, Type } from '../../kernel/schema.ts'
import type { TrafficLog } from '../../services/traffic-log/contract.ts'
import type { AddressLockout } from '../address-lockout.ts'
import { type Arrival, type Dispatch, describeError, emptyPayload, errorPayload, type Reply } from '../dispatch.ts'
import { MethodNotAllowed, TopicMalformed } from '../errors.ts'
import { type Failure, type Identify, isFailure } from '../identify.ts'
import type { GatewayMetrics } from '../metrics.ts'
import { admitMessage, type TrafficRate } from '../rate-limits.ts'
import { prefixEnd, readTail, readTopic, requestIdMax, type Topic, tokenKeyOf, topicProblems } from '../topic.ts'

export interface DeviceHttpDeps {
  tenantRate: TrafficRate
  identify: Identify
  dispatch: Dispatch
  tokenLockout: AddressLockout
  trafficLog: Pick<TrafficLog, 'recordRefusal'>
  metrics: GatewayMetrics
}

/** Paths below one of these roots are topics of devices. */
export const deviceRoots = ['/kp1', '/kpc/kp1']
/** All methods of Node.js except POST, and except CONNECT, which Node.js does not deliver as a request. */
const otherMethods = METHODS.filter((method) => method !== 'POST' && method !== 'CONNECT')

export function mountDeviceHttp(app: FastifyInstance, deps: DeviceHttpDeps) {
  const { identify, dispatch, tokenLockout, metrics } = deps
  const { recordRefusal, recordTooLarge } = refusalsOf(deps)
  const countsOf = (extension: Extension | undefined) => metrics.messageCounts(extension?.name, 'http')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyLimitBytes }, (_request, body, done) =>
    done(null, body),
  )
  // Any Content-Type is accepted, even a malformed Content-Type, because simple clients send such headers.
  app.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = 'application/octet-stream'
    // Only compression is rejected: simple clients also send names of character sets in Content-Encoding.
    done(compressionError(request))
  })
  app.setErrorHandler((error, request, reply) => {
    const code = (error as { code?: string }).code
    if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      // If the endpoint of the refusal cannot be looked up, the refusal is recorded without it.
      recordTooLarge(request).catch(() => recordRefusal(request, 'packet_too_large'))
      const reasonPhrase = `The body is larger than ${bodyLimitBytes} bytes`
      return send(reply, errorReply({ statusCode: 413, reasonPhrase }))
    }
    const status = (error as { statusCode?: number }).statusCode
    if (error instanceof PlatformError) reply.headers(error.headers ?? {})
    else if (status !== undefined && status >= 400 && status < 500)
      return send(reply, errorReply({ statusCode: status, reasonPhrase: (error as Error).message }))
    return send(reply, errorReply(describeError(error)))
  })
  for (const method of otherMethods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  for (const url of deviceRoots.map((root) => `${root}/*`)) {
    app.route({ method: 'POST', url, handler: (request, reply) => serve(request, reply) })
    app.route({
      method: otherMethods as HTTPMethods[],
      url,
      exposeHeadRoute: false,
      handler: (request, reply) => {
        reply.header('allow', 'POST')
        return send(reply, errorReply(describeError(MethodNotAllowed({ method: request.method }))))
      },
    })
  }

  async function serve(request: FastifyRequest, reply: FastifyReply) {
    const text = topicOf(request.raw.url ?? '')
    const topic = hasControls.test(text) ? 'control_character' : readTopic(text)
    const tail = typeof topic === 'string' ? topic : readTail(text, prefixEnd(text), Number.POSITIVE_INFINITY)
    if (typeof topic === 'string' || typeof tail === 'string') {
      const problem = typeof topic === 'string' ? topic : (tail as keyof typeof topicProblems)
      recordRefusal(request, `topic_${problem}`)
      throw TopicMalformed({ problem: topicProblems[problem] })
    }
    const { address } = request
    const tokenKey = tokenKeyOf(topic)
    const seconds = tokenLockout.lockedSeconds(address, tokenKey)
    if (seconds > 0) {
      recordRefusal(request, 'too_many_guesses', {}, topic)
      throw tooMany(seconds)
    }
    let identified = await identify(topic, { transport: 'http', authentication: undefined })
    while (!isFailure(identified) && !identify.isCurrent(identified))
      identified = await identify(topic, { transport: 'http', authentication: undefined })
    if (isFailure(identified)) {
      if (identified.countsForLockout) tokenLockout.recordFailure(address, tokenKey)
      recordRefusal(request, identified.reason, identified, topic)
      throw identified.error
    }
    tokenLockout.recordSuccess(address, tokenKey)
    const payload = (request.body as Buffer | undefined) ?? emptyPayload
    const wait = admitMessage(identified.tenant.traffic, deps.tenantRate, monotonicMs(), payload.length)
    if (wait > 0) {
      const detail = 'the devices of the tenant send more messages or bytes a second than they may'
      const { endpointId, tenant } = identified
      recordRefusal(request, 'too_many_messages', { tenantId: tenant.tenantId, endpointId, detail }, topic)
      throw tooMany(Math.ceil(wait / 1000))
    }
    const { applicationName, versionName, endpointId, tenant, extension } = identified
    const endpoint = { tenantId: tenant.tenantId, applicationName, versionName, endpointId }
    // Over HTTP, the response needs no request id. Only some extensions read the id.
    const requestId = extension?.readsRequestId ? tail.requestId : undefined
    if (requestId !== undefined && requestId > requestIdMax) {
      recordRefusal(request, 'topic_request_id_too_large', { tenantId: tenant.tenantId, endpointId }, topic)
      throw TopicMalformed({ problem: topicProblems.request_id_too_large })
    }
    const arrival: Arrival = {
      destination: { endpoint, extensionName: topic.extension, extension, counts: countsOf(extension), activeAt: 0 },
      tail: { resourcePath: tail.resourcePath, requestId },
      payload,
      transport: 'http',
      arrivedAt: monotonicMs(),
    }
    return dispatch(arrival, (_, answered) => send(reply, answered))
  }
}

/** Records refused messages in the traffic log. */
function refusalsOf(deps: DeviceHttpDeps) {
  function recordRefusal(request: FastifyRequest, reason: string, failure: Partial<Failure> = {}, topic?: Topic) {
    deps.metrics.countRefusal(reason)
    deps.trafficLog.recordRefusal({
      transport: 'http',
      address: request.address,
      reason,
      ...(failure.tenantId !== undefined && { tenantId: failure.tenantId }),
      ...(failure.endpointId !== undefined && { endpointId: failure.endpointId }),
      ...(failure.detail !== undefined && { detail: failure.detail }),
      ...(topic && { versionName: topic.versionName }),
    })
  }

  /**
   * Records that a body was too large. If the path contains a valid token, the record names the endpoint. The response is the same with and
   * without a valid token.
   */
  async function recordTooLarge(request: FastifyRequest) {
    const topic = readTopic(topicOf(request.raw.url ?? ''))
    const isLocked =
      typeof topic === 'string' || deps.tokenLockout.lockedSeconds(request.address, tokenKeyOf(topic)) > 0
    if (isLocked) return recordRefusal(request, 'packet_too_large')
    const identified = await deps.identify(topic, { transport: 'http', authentication: undefined })
    if (isFailure(identified)) return recordRefusal(request, 'packet_too_large', {}, topic)
    const { endpointId, tenant } = identified
    const detail = `the body is larger than ${bodyLimitBytes} bytes`
    recordRefusal(request, 'packet_too_large', { tenantId: tenant.tenantId, endpointId, detail }, topic)
  }

  return { recordRefusal, recordTooLarge }
}

/** Control characters are rejected, as they are over MQTT (mqtt/reader.ts). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const hasControls = /[\u0000-\u001f\u007f-\u009f]/

const tooMany = (seconds: number) => TooManyRequests({ seconds }, { headers: { 'retry-after': String(seconds) } })

const errorReply = (error: { statusCode: number; reasonPhrase: string }): Pick<Reply, 'statusCode' | 'payload'> => ({
  statusCode: error.statusCode,
  payload: errorPayload(error),
})

function send(
  reply: FastifyReply,
  { statusCode, payload, headers }: Pick<Reply, 'statusCode' | 'payload' | 'headers'>,
) {
  reply.code(statusCode)
  if (headers) reply.headers(headers)
  if (payload.length > 0) reply.header('content-type', 'application/json; charset=utf-8')
  return reply.send(payload)
}

/** Returns the topic. It is taken from the raw URL, because the router normalizes slashes, and slashes are significant in topics. */
function topicOf(url: string): string {
  const at = url.indexOf('?')
  const target = at < 0 ? url : url.slice(0, at)
  // A client that uses a proxy sends the whole URL (RFC 9112, 3.2.2).
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/i, '')
  const topic = path.startsWith('/kpc/') ? path.slice(5) : path.slice(1)
  if (!topic.includes('%')) return topic
  try {
    return decodeURIComponent(topic)
  } catch {
    throw TopicMalformed({ problem: 'The path contains a % that is not followed by two hexadecimal digits' })
  }
}

/** The error format of devices: `{statusCode, reasonPhrase}`, as over MQTT. */
export const deviceFormat: ErrorFormat = {
  name: 'device',
  body: (error) => ({ statusCode: error.status, reasonPhrase: error.message }),
  schema: Type.Object(
    {
      statusCode: Type.Integer({ description: 'HTTP status of the response.' }),
      reasonPhrase: Type.String({ description: 'Explains the error in words.' }),
    },
    { title: 'DeviceError', description: 'An error as devices get it, over HTTP and MQTT alike.' },
  ),
}

const level = (description: string) => Text({ description })

const causes: Record<number, string> = {
  400: 'The path or the payload is malformed; the text says what is wrong.',
  401: 'The token is unknown, suspended or revoked, or the tenant does not accept this device.',
  403: 'The extension does not permit this request of the device.',
  404: 'There is no such application version, extension or resource.',
  405: 'The method is not POST. Devices use only POST.',
  413: `The payload is larger than ${bodyLimitBytes} bytes.`,
  429: 'The devices of the tenant exceed a rate limit or its quota of bytes a day, or the address has presented too many wrong tokens. `Retry-After` holds the seconds to wait.',
  503: 'The message could not be stored; send it again after the seconds in `Retry-After`.',
}

/** Describes the operation for the API reference. */
export const deviceOperation: Operation = {
  api: 'device',
  method: 'POST',
  path: '/:appVersionName/:extension/:token/:resource',
  root: '/kp1',
  access: { scope: 'none' },
  errorFormat: deviceFormat,
  schema: {
    name: 'devices.messages.send',
    summary: 'Send a message as a device',
    description: 'The same messages travel over MQTT, where this path is the topic.',
    params: Type.Object({
      appVersionName: level('Name of the application version that the endpoint belongs to.'),
      extension: level('Extension of the device protocol that the message is for, such as `dcx` for data samples.'),
      token: level('Token of the endpoint.'),
      resource: {
        ...level('Resource path of the extension, of one or several segments, such as `json` for data samples.'),
        // The value of this parameter may contain slashes, which separate path segments.
        'x-segments': true,
      },
    }),
    body: Type.Unknown({ description: 'The payload; the extension defines it. The `Content-Type` does not matter.' }),
    response: Object.fromEntries([
      [200, Type.Unknown({ description: 'The payload of the response; often empty.' })],
      ...Object.entries(causes).map(([status, cause]) => [status, describedAs(deviceFormat.schema, cause)]),
    ]),
    fails: { 415: 'Reserved: every `Content-Type` is accepted.' },
  },
}
