/** Sends the HTTP requests of scripts. They go to public addresses, or to this platform with the permissions of the script's writer. */
import { withCause } from '../../../../kernel/cause.ts'
import type { Caller } from '../../../../kernel/contract.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { ResponseTooLarge, ResponseTooLate } from '../../../../kernel/http/internal-calls.ts'
import { platformSystem, tenantSystem } from '../../../../kernel/permissions.ts'
import { RefusedAddress, safeFetch } from '../../../../kernel/safe-fetch.ts'
import { CallRejected } from '../../../../sandbox/job.ts'
import type { HostAccess } from './access.ts'
import { httpBytes, httpTimeoutMs } from './limits.ts'

export interface ScriptRequest {
  method: string
  url: string
  isPlatform: boolean
  headers: Record<string, string>
  body: string | undefined
}

/** `body` is the parsed JSON of the response, or its text. `error` has the reason if there is no response. */
export interface ScriptResponse {
  statusCode?: number
  headers?: Record<string, string>
  body?: unknown
  error?: string
}

/** Sends a request. It does not throw if the request fails; the response then has `error`. */
export type HttpClient = (request: ScriptRequest, access: HostAccess, signal: AbortSignal) => Promise<ScriptResponse>

const urlLength = 8192
/** Matches headers that the connection needs, and headers with which a script could act for another caller. */
const refusedHeader =
  /^(?:host|content-length|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|x-forwarded-.*)$/i
const ownHeader = /^(?:authorization|x-identity-api-key|x-iamcore-api-key|cookie)$/i
const headerName = /^[!#$%&'*+.^_`|~\w-]{1,128}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: header values must not contain control characters
const badHeaderValue = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/

/** Reads the arguments of a script's call. */
export function requestOf(method: unknown, url: unknown, options: unknown): ScriptRequest {
  if (typeof method !== 'string' || !/^(?:GET|POST|PUT|PATCH|DELETE)$/.test(method))
    throw new CallRejected('httpClient has get, post, put, patch and delete')
  if (typeof url !== 'string' || url === '' || url.length > urlLength)
    throw new CallRejected(`the address must be a text of at most ${urlLength} characters`)
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new CallRejected('the options of httpClient must be an object')
  const { platform, params, headers, body } = options as Record<string, unknown>
  const isPlatform = platform === true
  const requestHeaders = headersOf(headers, isPlatform)
  const hasBody = body !== undefined && body !== null && method !== 'GET'
  const hasType = Object.keys(requestHeaders).some((name) => name.toLowerCase() === 'content-type')
  return {
    method,
    isPlatform,
    url: withParams(url, params),
    headers: { ...(hasBody && !hasType && { 'content-type': 'application/json' }), ...requestHeaders },
    body: hasBody ? (typeof body === 'string' ? body : JSON.stringify(body)) : undefined,
  }
}

function headersOf(headers: unknown, isPlatform: boolean): Record<string, string> {
  if (headers === undefined || headers === null) return {}
  if (typeof headers !== 'object' || Array.isArray(headers)) throw new CallRejected('headers must be an object')
  const result: [name: string, value: string][] = []
  for (const [name, value] of Object.entries(headers)) {
    if (!/^(?:string|number|boolean)$/.test(typeof value)) throw new CallRejected(`the header ${name} is not a text`)
    const text = String(value)
    if (!headerName.test(name) || badHeaderValue.test(text) || refusedHeader.test(name))
      throw new CallRejected(`the header ${name} cannot be sent`)
    if (isPlatform && ownHeader.test(name))
      throw new CallRejected(
        `the header ${name} cannot be sent: calls to the platform act for the writer of the script`,
      )
    result.push([name, text])
  }
  return Object.fromEntries(result)
}

function withParams(url: string, params: unknown): string {
  if (params === undefined || params === null) return url
  if (typeof params !== 'object' || Array.isArray(params)) throw new CallRejected('params must be an object')
  const list = new URLSearchParams()
  for (const [name, value] of Object.entries(params))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null)
        list.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one))
  const text = list.toString()
  return text === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${text}`
}

export function createHttpClient({ internalCalls, platform }: Pick<Kit, 'internalCalls' | 'platform'>): HttpClient {
  async function callPlatform(request: ScriptRequest, access: HostAccess): Promise<ScriptResponse> {
    if (!/^\/(?!\/)/.test(request.url))
      return { error: 'with platform: true the address must be a path such as /epr/api/v1/endpoints' }
    const holder = await access.caller()
    if (!holder) return { error: 'the writer of the script has no permissions any more' }
    const caller = withinTenant(holder)
    const { method, url, headers, body } = request
    const platformRequest = { method, url, headers, ...(body !== undefined && { body }) }
    const call = () => internalCalls.call(caller, platformRequest, { bytesMax: httpBytes, timeoutMs: httpTimeoutMs })
    const response = await withCause(access.cause, call)
    return { statusCode: response.status, headers: response.headers, body: parsed(response.body) }
  }

  async function callOutside(request: ScriptRequest, signal: AbortSignal): Promise<ScriptResponse> {
    const { method, url, headers, body } = request
    const response = await safeFetch(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      timeoutMs: httpTimeoutMs,
      maxBytes: httpBytes,
      allowPrivate: platform.allowPrivateAddresses,
      allowHttp: true,
      signal,
    })
    const text = await response.text()
    return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: parsed(text) }
  }

  return async (request, access, signal) => {
    if (access.isTry && !(request.isPlatform && request.method === 'GET'))
      return { error: 'a test run sends only GET requests with platform: true' }
    try {
      if (!request.isPlatform) return await callOutside(request, signal)
      return await callPlatform(request, access)
    } catch (error) {
      return { error: problemOf(error) }
    }
  }
}

/**
 * Limits an administrator of the platform to the permissions on its own tenant, because scripts must not reach other tenants (document 5,
 * 5.14). Returns any other caller unchanged.
 */
function withinTenant(caller: Caller): Caller {
  if (!caller.permissions.some(({ resource }) => resource === platformSystem)) return caller
  const permissions = caller.permissions.map((permission) =>
    permission.resource === platformSystem ? { ...permission, resource: tenantSystem } : permission,
  )
  return { ...caller, permissions }
}

const timedOut = `there was no response within ${httpTimeoutMs / 1000} seconds`

/** Returns the reason of a failed request, without details of this machine. */
function problemOf(error: unknown): string {
  if (error instanceof RefusedAddress || error instanceof ResponseTooLarge) return error.message
  if (error instanceof ResponseTooLate) return timedOut
  const { name, code, message } = error as { name?: string; code?: string; message?: string }
  if (name === 'TimeoutError' || name === 'AbortError') return timedOut
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name of the host is unknown'
  if (code === 'ECONNREFUSED') return 'the host refused the connection'
  return code ? `the request failed: ${code}` : `the request failed: ${message ?? 'unknown reason'}`
}

function parsed(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
