/** A command for the endpoints of a bulk job. Each endpoint gets its own command; the result of an item is the id of its command. */
import { type BulkType, defineBulk, type Outcome } from '../../../kernel/bulk/types.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { EndpointRef, EndpointWork, Register, TaskEndpoint, TaskEndpointResult } from '../../register/contract.ts'
import type { CommandForMany } from '../contract.ts'
import { PayloadTooLarge, TooManyOutstanding } from '../errors.ts'
import { sizeOf } from '../push.ts'
import type { NewCommand } from '../store/invocations.ts'
import { updateScope } from './access.ts'
import type { Dispatch } from './dispatch.ts'
import { freshOf, insertAndSignal, outstandingMax } from './invocation.ts'

interface CommandData {
  commandType: string
  /** JSON text; null for a command without payload. */
  payload: string | null
  ttlMs: number
}

export const SendCommands: BulkType<CommandData, TaskEndpoint, TaskEndpointResult> = defineBulk('commands.send', {
  title: 'Send a command',
  // Pages are small, because a page locks its endpoints and thereby blocks other commands.
  pageSize: 100,
  keepDays: 30,
})

/** Maximum size of the payload. It is lower than for a single command, because the payload is stored again with each command. */
const payloadBytesMax = 16_384

interface Deps {
  kit: Pick<Kit, 'db' | 'bulk'>
  register: Pick<Register, 'taskEndpoints'>
  dispatch: Dispatch
}

export function createCommandWork({ kit, register, dispatch }: Deps): EndpointWork<CommandForMany> {
  kit.bulk.handle(SendCommands, {
    async page(sql, { tenantId, data }, items) {
      const endpoints = await register.taskEndpoints(sql, tenantId, items)
      const commands = endpoints.flatMap((endpoint) => ('failed' in endpoint ? [] : [commandOf(endpoint, data)]))
      const insertedCommands = commands.length > 0 ? await insertAndSignal(sql, dispatch, commands) : []
      kit.db.afterCommit(sql, () => {
        dispatch.committed(freshOf(commands, insertedCommands))
        for (const [index, { endpointId, type, payload, kept }] of commands.entries())
          if (!kept && insertedCommands[index])
            dispatch.tryOnce({ tenantId, endpointId }, { id: insertedCommands[index].commandId, type, payload })
      })
      let next = 0
      return endpoints.map((endpoint): Outcome<TaskEndpointResult> => {
        if ('failed' in endpoint) return { failed: endpoint.failed }
        const { commandId } = insertedCommands[next++] ?? {}
        return commandId === undefined
          ? { failed: TooManyOutstanding({ limit: outstandingMax }).message }
          : { result: { commandId } }
      })
    },
  })
  return {
    type: SendCommands,
    scope: updateScope,
    dataOf(_ctx, { commandType, payload, commandTtl }) {
      const text = payload === undefined ? null : JSON.stringify(payload)
      if (text !== null && Buffer.byteLength(text) > payloadBytesMax) throw PayloadTooLarge({ limit: payloadBytesMax })
      return { commandType, payload: text, ttlMs: commandTtl }
    },
    describe: ({ commandType, ttlMs }: CommandData) => ({ commandType, commandTtl: ttlMs }),
  }
}

function commandOf(endpoint: EndpointRef, { commandType: type, payload, ttlMs }: CommandData): NewCommand {
  const { tenantId, endpointId, applicationName } = endpoint
  return {
    tenantId,
    endpointId,
    applicationName,
    type,
    payload,
    size: sizeOf(type, payload),
    lifetimeMs: ttlMs,
    kept: ttlMs > 0,
    waitingNode: null,
    taskId: null,
  }
}
