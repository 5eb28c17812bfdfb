/** A device over HTTP: each message is a request, and the device polls for commands, configurations and software. */
import { WaypostError } from '../errors.ts'
import { readOperation } from '../operation.ts'
import { send } from '../request.ts'
import type { Transport } from '../running.ts'
import { isTemporary, type Link, rejectionOf } from './link.ts'

const address = 'messages.send POST /kp1/{appVersionName}/{extension}/{token}'
const message = readOperation('devices', `${address}/{+resource} n`)
/** Some extensions, such as `tsx`, have a resource without a name. */
const messageWithoutResource = readOperation('devices', `${address} n`)

export function openHttpLink(transport: Transport, version: string, token: string): Link {
  const stop = new AbortController()
  return {
    concurrency: 1,
    pushes: false,
    async request({ extension, resource, payload }) {
      const args = { appVersionName: version, extension, token, body: JSON.parse(payload) }
      try {
        const [operation, named] = resource === '' ? [messageWithoutResource, args] : [message, { ...args, resource }]
        const { body } = await send(transport, operation, named, { attempts: 1, signal: stop.signal })
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
