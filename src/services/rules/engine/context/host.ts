/**
 * Answers the calls of scripts: reads of endpoints, HTTP requests, secrets. Every argument comes from a script and is therefore untrusted.
 */

import type { Caller } from '../../../../kernel/contract.ts'
import { isDatabaseUnavailable } from '../../../../kernel/db.ts'
import { holds } from '../../../../kernel/permissions.ts'
import { CallRejected, type HostCall } from '../../../../sandbox/job.ts'
import type { Configuration } from '../../../configuration/contract.ts'
import { type EndpointRef, endpointResource, type Register } from '../../../register/contract.ts'
import type { Point, TimeSeries } from '../../../time-series/contract.ts'
import type { HostAccess } from './access.ts'
import { type HttpClient, requestOf } from './http-client.ts'
import { mebibytes, pointsBytes, pointsMax } from './limits.ts'
import type { EndpointInput } from './world.ts'

export interface HostDeps {
  register: Pick<Register, 'find' | 'findAll' | 'metadataOf' | 'relatedEndpoints' | 'matchingFilters'>
  timeSeries: Pick<TimeSeries, 'lastPoints' | 'pointsBetween' | 'timeOf'>
  configuration: Pick<Configuration, 'effective'>
  http: HttpClient
  /** Returns the value of a secret. Returns undefined if no secret has this name, or if the reader may not read the secret. */
  secretValue(tenantId: string, name: string, reader: Caller): Promise<string | undefined>
}

export interface Host {
  call: HostCall
  /** True if the script has read a secret. Its value is then masked in all texts that people read. */
  hasReadSecrets(): boolean
  /** True if a call failed because of the platform and not because of the script. */
  hasFailed(): boolean
}

/** The error of a call that could not reach the database. The run is repeated. */
const unavailable = 'the platform is not available'

export function createHost(deps: HostDeps, access: HostAccess): Host {
  /** The endpoints that the script got from the platform. The script cannot read other endpoints. */
  const seen = new Map<string, EndpointRef>()
  if (access.endpoint) seen.set(access.endpoint.endpointId, access.endpoint)
  let hasReadSecrets = false
  let hasFailed = false

  /**
   * Returns the endpoints without endpoints of other tenants. In evaluations, test runs and replays, the caller may have chosen the script,
   * so endpoints that the caller may not read are also left out.
   */
  async function show(endpoints: EndpointRef[]): Promise<EndpointInput[]> {
    const isOfCaller = access.isTry || access.children !== undefined
    const caller = isOfCaller ? await access.caller() : undefined
    const isVisible = (endpoint: EndpointRef) =>
      endpoint.tenantId === access.tenantId &&
      (!isOfCaller || (caller !== undefined && holds(caller, 'endpoint:read', endpointResource(endpoint))))
    return endpoints.filter(isVisible).map((endpoint) => {
      seen.set(endpoint.endpointId, endpoint)
      return inputOf(endpoint)
    })
  }

  const givenChildren = async (ids: string[]) =>
    await show([...(await deps.register.findAll(ids.slice(0, 1000))).values()])

  async function read(kind: unknown, endpointId: unknown, args: unknown[]): Promise<unknown> {
    if (kind === 'children' && access.children) return await givenChildren(access.children)
    const endpoint = typeof endpointId === 'string' ? seen.get(endpointId) : undefined
    if (!endpoint) throw new CallRejected('the endpoint of an evaluation has metadata and children only')
    return await readEndpoint(deps, endpoint, kind, args, show)
  }

  async function answer(name: string, args: unknown[], signal: AbortSignal): Promise<unknown> {
    if (name === 'read') return await read(args[0], args[1], args.slice(2))
    if (name === 'secret') {
      if (!access.hasSecrets) throw new CallRejected('secrets are available only in runs of rules')
      const secretName = requireText(args[0], 'the name of a secret')
      const reader = await access.caller()
      hasReadSecrets = true
      return (reader && (await deps.secretValue(access.tenantId, secretName, reader))) ?? null
    }
    if (name === 'http') return await deps.http(requestOf(args[0], args[1], args[2]), access, signal)
    throw new CallRejected(`there is no function ${name}`)
  }

  return {
    hasReadSecrets: () => hasReadSecrets,
    hasFailed: () => hasFailed,
    async call(name, args, signal) {
      try {
        return await answer(name, args, signal)
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error
        hasFailed = true
        throw new CallRejected(unavailable)
      }
    },
  }
}

export const inputOf = ({ endpointId, applicationName, versionName }: EndpointRef): EndpointInput => ({
  endpointId,
  appName: applicationName,
  appVersionName: versionName,
})

async function readEndpoint(
  { register, timeSeries, configuration }: HostDeps,
  endpoint: EndpointRef,
  kind: unknown,
  args: unknown[],
  show: (endpoints: EndpointRef[]) => Promise<EndpointInput[]>,
): Promise<unknown> {
  const { endpointId } = endpoint
  switch (kind) {
    case 'metadata':
      return (await register.metadataOf(endpointId)) ?? {}
    case 'last':
      return await lastPoints(timeSeries, endpoint, args)
    case 'range':
      return await pointsBetween(timeSeries, endpoint, args)
    case 'children':
      return await show(await register.relatedEndpoints(endpointId, 'outbound'))
    case 'parents':
      return await show(await register.relatedEndpoints(endpointId, 'inbound'))
    case 'configuration': {
      const name =
        args[0] === undefined || args[0] === null ? undefined : requireText(args[0], 'the name of a configuration')
      return (await configuration.effective(endpoint, name))?.config ?? null
    }
    case 'filters':
      return await register.matchingFilters(endpointId)
    default:
      throw new CallRejected('there is no such read')
  }
}

const seriesOf = ({ tenantId, applicationName, endpointId }: EndpointRef, name: unknown) => ({
  tenantId,
  applicationName,
  endpointId,
  seriesName: requireText(name, 'the name of a time series'),
})

const tooLarge = `points of more than ${mebibytes(pointsBytes)}`

async function lastPoints(
  timeSeries: HostDeps['timeSeries'],
  endpoint: EndpointRef,
  [name, count]: unknown[],
): Promise<Point[]> {
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > pointsMax)
    throw new CallRejected(`last() takes a number from 1 to ${pointsMax}`)
  const points = await timeSeries.lastPoints(seriesOf(endpoint, name), { points: count, bytes: pointsBytes })
  if (points === 'more bytes') throw new CallRejected(`last() found ${tooLarge}; choose a smaller number`)
  return points
}

async function pointsBetween(
  timeSeries: HostDeps['timeSeries'],
  endpoint: EndpointRef,
  [name, from, to]: unknown[],
): Promise<Point[]> {
  const span = { from: timeOf(timeSeries, from, 'now-100y'), to: timeOf(timeSeries, to, 'now') }
  const limits = { points: pointsMax, bytes: pointsBytes }
  const points = await timeSeries.pointsBetween(seriesOf(endpoint, name), span, limits)
  if (Array.isArray(points)) return points
  const found = points === 'more points' ? `more than ${pointsMax} points` : tooLarge
  throw new CallRejected(`range() found ${found}; choose a shorter time`)
}

function timeOf(timeSeries: HostDeps['timeSeries'], value: unknown, absent: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return Math.round(value)
  const time = timeSeries.timeOf(value === undefined || value === null ? absent : String(value))
  if (time === undefined) throw new CallRejected('range() takes ISO 8601, milliseconds, Date, or now-15m')
  return time
}

function requireText(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw new CallRejected(`${name} must be a text`)
  // PostgreSQL rejects NUL. That error would count as a failure of the platform, and the event would run again.
  if (value.includes('\0')) throw new CallRejected(`${name} must not contain NUL`)
  return value
}
