/** Requests an upload token over HTTP, as a device does. */
import assert from 'node:assert/strict'
import { client } from './client.ts'

export async function uploadTokenOf(baseUrl: string, endpoint: { version: string; token: string }): Promise<string> {
  const { version, token } = endpoint
  const { status, text } = await client(baseUrl)(`POST /kp1/${version}/bcx/${token}/token`)
  assert.equal(status, 200, text)
  return JSON.parse(text).token
}
