/** The correlation id of a request: an id that the client has chosen, or a new one. */
import type { IncomingMessage } from 'node:http'
import { newId } from '../ids.ts'

const correlationPattern = /^[\w.:~+/=-]{1,128}$/

export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const correlationId = headers['x-correlation-id'] ?? headers['x-request-id']
  return typeof correlationId === 'string' && correlationPattern.test(correlationId) ? correlationId : newId()
}
