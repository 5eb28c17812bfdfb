import type { Ask } from '../../test/harness/client.ts'

/** Sends a request and returns the body of the response. Throws if the response does not have the expected status. */
export async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  if (answer.status !== status) throw new Error(`${operation}: ${answer.status} ${answer.text}`)
  return answer.body
}
