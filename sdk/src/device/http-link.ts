/** A device over HTTP: each message is a request, and the device polls for commands, configurations and software. */
import { WaypostError } from '../errors.ts'
import { readOperation } from '../operation.ts'
import { send } from '../request.ts'
import type { Transport } from '../running.ts'
import { isTemporary, type Link, rejectionOf } from './link.ts'

const message = readOperation('devices', 'messages.send POST /kp1/{appVersionName}/{extension}/{token}/{+resource} n')

export function openHttpLink(transport: Transport, version: string, token: string): Link {
  const stop = new AbortController()
  return {
    concurrency: 1,
    pushes: false,
    async request({ extension, resource, payload }) {
      const args = { appVersionName: version, extension, token, resource, body: JSON.parse(payload) }
      try {
        const { body } = await send(transport, message, args, { attempts: 1, signal: stop.signal })
        return body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
      } catch (error) {
        const isRejection = error instanceof WaypostError && !isTemporary(error) && typeof error.body === 'object'
        if (isRejection) throw rejectionOf(JSON.stringify(error.body), { extension, resource })
        throw error
      }
    },
    async close() {
      stop.abort()
    },
  }
}
