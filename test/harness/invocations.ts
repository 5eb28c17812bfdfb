/** Invokes commands over the HTTP API and reads their results, for device journeys. */
import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
type Ask = (operation: string, body?: unknown) => Promise<{ status: number; text: string; body: any; headers: unknown }>

export function invocations(ask: Ask) {
  const path = (endpointId: string, type: string) => `/cex/api/v1/endpoints/${endpointId}/commands/${type}`
  return {
    /** Invokes a command and returns its id, without waiting for the result. */
    async invoke(endpointId: string, type: string, payload?: unknown, query = 'awaitTimeout=0'): Promise<number> {
      const { status, text, headers } = await ask(`POST ${path(endpointId, type)}?${query}`, payload)
      assert.equal(status, 202, text)
      const location = headers instanceof Headers ? headers.get('location') : (headers as { location: string }).location
      return Number(location!.split('/').at(-1))
    },
    get: async (endpointId: string, type: string, id: number) =>
      (await ask(`GET ${path(endpointId, type)}/${id}`)).body,
  }
}
