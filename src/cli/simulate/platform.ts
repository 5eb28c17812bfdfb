/** Creates the application, endpoints and first software version of the simulated devices through the API, unless they already exist. */
import { createHmac } from 'node:crypto'
import { monotonicMs, sleep } from '../../kernel/clock.ts'
import type { Bootstrap } from '../bootstrap-file.ts'
import type { SimulateOptions } from './options.ts'

/** An error that is printed in one line. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError'
}

export interface SimulatedEndpoint {
  endpointId: string
  token: string
}

export interface Prepared {
  versionName: string
  endpoints: SimulatedEndpoint[]
  /** Creates the token of an endpoint that exists but has no token. */
  createToken(endpoint: SimulatedEndpoint): Promise<void>
}

const versionSuffix = 'v1'
const batchMax = 1000
const batchWaitMs = 60_000
const tokenMargin = 0.8

export async function prepare(
  bootstrap: Bootstrap,
  { application, devices, software }: Pick<SimulateOptions, 'application' | 'devices' | 'software'>,
): Promise<Prepared> {
  const callApi = createCallApi(bootstrap)
  const versionName = `${application}-${versionSuffix}`
  const applications = '/api/v1/applications'
  const existing = await callApi('GET', `${applications}/${application}`, undefined, [200, 404])
  if (existing.status === 404)
    await callApi('POST', applications, { name: application, displayName: 'Simulated devices' }, [201, 409])
  const versions: { name: string }[] = existing.body?.versions ?? []
  if (!versions.some(({ name }) => name === versionName))
    await callApi('POST', `${applications}/${application}/app-versions`, { nameSuffix: versionSuffix }, [201, 409])
  if (software !== undefined) {
    const path = `/otao/api/v1/applications/${application}/software/${encodeURIComponent(software)}`
    await callApi('POST', path, { rolloutStrategy: 'general' }, [201, 409])
  }

  const endpoints = Array.from({ length: devices }, (_, index) => endpointOf(bootstrap, application, index + 1))
  const existingIds = await findEndpointIds(callApi, application)
  const missing = endpoints.filter(({ endpointId }) => !existingIds.has(endpointId))
  for (let from = 0; from < missing.length; from += batchMax)
    await register(callApi, application, versionName, missing.slice(from, from + batchMax))
  return {
    versionName,
    endpoints,
    createToken: async ({ endpointId, token }) =>
      void (await callApi(
        'POST',
        `/api/v1/endpoints/${endpointId}/tokens`,
        { applicationName: application, token },
        [201, 409],
      )),
  }
}

/**
 * Returns an endpoint with its token. The token is the same in every run, and cannot be guessed without the secret of the backend client.
 */
function endpointOf({ default: realm }: Bootstrap, application: string, number: number): SimulatedEndpoint {
  const endpointId = `${application}-${String(number).padStart(4, '0')}`
  const token = createHmac('sha256', realm.backendClient.secret).update(endpointId).digest('hex').slice(0, 24)
  return { endpointId, token }
}

async function findEndpointIds(callApi: CallApi, application: string): Promise<Set<string>> {
  const query = new URLSearchParams({ applicationName: application, limit: '0' })
  const { body } = await callApi('GET', `/epr/api/v1/endpoints?${query}`)
  return new Set(body.content.map(({ endpointId }: { endpointId: string }) => endpointId))
}

async function register(callApi: CallApi, application: string, versionName: string, endpoints: SimulatedEndpoint[]) {
  const { body } = await callApi(
    'POST',
    '/epr/api/v1/endpoints/batch',
    {
      appVersion: { name: versionName },
      endpoints: endpoints.map(({ endpointId, token }) => ({
        endpointId,
        endpointToken: token,
        metadata: { name: `Simulated ${endpointId}`, model: 'simulator' },
      })),
    },
    [202],
  )
  const query = new URLSearchParams({ appName: application, taskId: body.taskId })
  const deadline = monotonicMs() + batchWaitMs
  for (;;) {
    const { body: batch } = await callApi('GET', `/epr/api/v1/endpoints/batch/status?${query}`)
    const [failed] = batch.failed
    if (failed) throw new SimulationError(`endpoint ${failed.endpointId} was not registered: ${failed.statusReason}`)
    if (batch.createdCount === endpoints.length) return
    if (monotonicMs() > deadline)
      throw new SimulationError(`only ${batch.createdCount} of ${endpoints.length} endpoints were registered in time`)
    await sleep(50)
  }
}

interface ApiResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, of which a few fields are used
  body: any
  /** The value of the header `Location`. */
  location: string | null
}

type CallApi = (method: string, path: string, body?: unknown, expected?: number[]) => Promise<ApiResponse>

/** Returns a function that calls the API as the backend client of the tenant `default`. */
export function createCallApi({ baseUrl, default: realm }: Bootstrap): CallApi {
  let [token, until] = ['', 0]
  const request = async (path: string, init: RequestInit, expected: number[]): Promise<ApiResponse> => {
    let response: Response
    try {
      response = await fetch(baseUrl + path, init)
    } catch {
      throw new SimulationError(`no answer from ${baseUrl}; is the platform running?`)
    }
    const text = await response.text()
    if (!expected.includes(response.status))
      throw new SimulationError(`${init.method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return {
      status: response.status,
      body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined,
      location: response.headers.get('location'),
    }
  }
  const authorization = async () => {
    if (monotonicMs() < until) return token
    const { id, secret } = realm.backendClient
    const grant = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret })
    const path = `/auth/realms/${realm.tenantId}/protocol/openid-connect/token`
    const { body } = await request(path, { method: 'POST', body: grant }, [200])
    token = body.access_token
    until = monotonicMs() + body.expires_in * 1000 * tokenMargin
    return token
  }
  return async (method, path, body, expected = [200]) =>
    request(
      path,
      {
        method,
        headers: {
          authorization: `Bearer ${await authorization()}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      expected,
    )
}
