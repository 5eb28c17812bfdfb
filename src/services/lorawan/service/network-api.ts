/**
 * Calls the HTTP API of a network (document 5, 9.8). Private addresses are refused, redirects are not followed, and a call takes at most 10
 * seconds. Neither errors nor log messages contain the key.
 */
import { RefusedAddress, safeFetch } from '../../../kernel/safe-fetch.ts'

export interface NetworkAccess {
  /** `https://host[:port]`. */
  origin: string
  key: string
  allowPrivate: boolean
  signal?: AbortSignal | undefined
}

/** Thrown if the network cannot be reached or answers with an error. The message contains the reason. */
export class NetworkProblem extends Error {
  override readonly name = 'NetworkProblem'
  /** Status of the answer; undefined if there was no answer. */
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

export interface NetDevice {
  netDeviceId: string
  name?: string
  devEui?: string
}

const timeoutMs = 10_000
const responseBytesMax = 32 * 1024 * 1024
const devicesPerPage = 1000
const pagesMax = 100

async function call(access: NetworkAccess, method: string, path: string, body?: unknown): Promise<Response> {
  const { origin, key, allowPrivate, signal } = access
  const host = new URL(origin).host
  let response: Response
  try {
    response = await safeFetch(origin + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeoutMs,
      maxBytes: responseBytesMax,
      allowPrivate,
      signal,
    })
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    throw new NetworkProblem(connectionText(host, error))
  }
  if (response.ok) return response
  throw new NetworkProblem(await refusalText(host, response, key), response.status)
}

function connectionText(host: string, error: unknown): string {
  if (error instanceof RefusedAddress) return error.message
  const { name, code } = error as { name?: string; code?: string }
  // An abort by the caller is handled before, so this error means that the time limit was reached.
  if (name === 'TimeoutError' || name === 'AbortError') return `${host} did not answer within ${timeoutMs / 1000} s`
  return `${host} cannot be reached${code === undefined ? '' : ` (${code})`}`
}

const reasonLength = 300

/** Returns the text that a network sends with an error. The key is removed, because a careless network might repeat it. */
async function refusalText(host: string, response: Response, key: string): Promise<string> {
  const { status } = response
  if (status >= 300 && status < 400) return `${host} redirects (${status}), which is not followed`
  const text = await response.text().catch(() => '')
  const message = messageIn(text)?.replaceAll(key, '…').slice(0, reasonLength)
  const failureText =
    status === 401 || status === 403 ? `${host} refuses the API key (${status})` : `${host} answered ${status}`
  return message ? `${failureText}: ${message}` : failureText
}

function messageIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : undefined
  } catch {
    return undefined
  }
}

async function jsonOf(origin: string, response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    throw new NetworkProblem(`${new URL(origin).host} answered with something that is not JSON`)
  }
}

/** Returns all devices in an application of the network. */
export async function listNetDevices(access: NetworkAccess, applicationId: string): Promise<NetDevice[]> {
  const path = `/api/v3/applications/${encodeURIComponent(applicationId)}/devices`
  const found = new Map<string, NetDevice>()
  for (let page = 1; page <= pagesMax; page++) {
    const query = `?field_mask=name&limit=${devicesPerPage}&page=${page}`
    const response = await call(access, 'GET', path + query).catch((error) => {
      // Some networks reject parameters that are unknown to them.
      if (page === 1 && error instanceof NetworkProblem && (error.status === 400 || error.status === 404))
        return call(access, 'GET', path)
      throw error
    })
    const devices = devicesIn(access.origin, await jsonOf(access.origin, response))
    const before = found.size
    for (const device of devices) found.set(device.netDeviceId, device)
    // The second condition ends the list if a network ignores `page`.
    if (devices.length < devicesPerPage || found.size === before) break
  }
  return [...found.values()]
}

interface EndDevice {
  ids?: { device_id?: unknown; dev_eui?: unknown }
  name?: unknown
}

function devicesIn(origin: string, value: unknown): NetDevice[] {
  const list = (value as { end_devices?: unknown } | null)?.end_devices ?? []
  if (typeof value !== 'object' || value === null || !Array.isArray(list))
    throw new NetworkProblem(`${new URL(origin).host} answered without a list end_devices`)
  return list.flatMap((device: EndDevice | null): NetDevice[] => {
    const { device_id: id, dev_eui: devEui } = device?.ids ?? {}
    if (typeof id !== 'string') return []
    const name = device?.name
    return [
      {
        netDeviceId: id,
        ...(typeof name === 'string' && name !== '' && { name }),
        ...(typeof devEui === 'string' && devEui !== '' && { devEui }),
      },
    ]
  })
}

export interface GatewayRegistration {
  netGatewayId: string
  name: string
  description: string | null
  info: {
    netGatewayEui: string
    netGatewayName?: string
    frequencyPlanId: string
    gatewayServerAddress: string
    statusPublic: boolean
    locationPublic: boolean
    enforceDutyCycle: boolean
    scheduleAnytimeDelay: number
  }
}

export async function registerGateway(access: NetworkAccess, netUsername: string, gateway: GatewayRegistration) {
  const { netGatewayId, name, description, info } = gateway
  await call(access, 'POST', `/api/v3/users/${encodeURIComponent(netUsername)}/gateways`, {
    gateway: {
      ids: { gateway_id: netGatewayId, eui: info.netGatewayEui.toUpperCase() },
      name: info.netGatewayName ?? name,
      ...(description !== null && { description }),
      frequency_plan_id: info.frequencyPlanId,
      frequency_plan_ids: [info.frequencyPlanId],
      status_public: info.statusPublic,
      location_public: info.locationPublic,
      gateway_server_address: info.gatewayServerAddress,
      enforce_duty_cycle: info.enforceDutyCycle,
      schedule_anytime_delay: `${info.scheduleAnytimeDelay}s`,
    },
  })
}

/** Deletes a gateway in the network. A gateway that the network does not have counts as deleted. */
export async function deregisterGateway(access: NetworkAccess, netGatewayId: string) {
  try {
    await call(access, 'DELETE', `/api/v3/gateways/${encodeURIComponent(netGatewayId)}`)
  } catch (error) {
    if (!(error instanceof NetworkProblem && error.status === 404)) throw error
  }
}
