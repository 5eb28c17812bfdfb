/**
 * Pushes commands to connected devices. The node that has the connection reads the commands and pushes each command once. For each
 * connection of an endpoint, it remembers the highest id that was pushed. Ids are committed in order, so no smaller id follows.
 */
import type { Gateway } from '../../../gateway/contract.ts'
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import type { CommandCarrier } from '../contract.ts'
import { pushFailed } from '../log-messages.ts'
import { commandPush, messageBytesMax } from '../push.ts'
import { CommandOnce, CommandsWaiting } from '../signals.ts'
import * as store from '../store/outstanding.ts'

/** New commands of an endpoint, ordered by id. */
export interface Fresh extends store.EndpointKey {
  commands: store.OutstandingRow[]
}

export interface Dispatch {
  addCarrier(carrier: CommandCarrier): void
  /** Signals the nodes that have connections of the endpoints, with the commit of `sql`. `committed` must be called after the commit. */
  committing(sql: Sql, endpoints: store.EndpointKey[]): Promise<void>
  /** Returns whether all of these endpoints are connected to this node, so that `committing` has nothing to do. */
  areHere(endpoints: store.EndpointKey[]): boolean
  /** Pushes commands that were committed. It does not wait for the pushes. */
  committed(fresh: Fresh[]): void
  /** Pushes a command with `commandTtl=0`, which is pushed only once. Returns false if the device cannot be reached now. */
  once(endpoint: store.EndpointKey, command: store.OutstandingRow): Promise<boolean>
  /** Pushes a command like `once`, but does not wait for the push. */
  tryOnce(endpoint: store.EndpointKey, command: store.OutstandingRow): void
  /** Pushes the outstanding commands that were not pushed on the present connection of the endpoint to this node. */
  catchUp(endpoint: store.EndpointKey): Promise<void>
  /** Called when a device has sent a result. If the command was read for a push that is not sent yet, it is removed from this push. */
  answered(endpointId: string, type: string, id: number): void
  /** Resolves when no push is in progress. */
  settled(): Promise<void>
}

/** The commands that were pushed to an endpoint on its current connection. */
interface Pushed {
  /** All commands up to this id were pushed. */
  upTo: number
  /**
   * Ids above `upTo` that were pushed. Set while commands of some types are pushed and commands of other types are not, for example because
   * their push failed.
   */
  beyond?: Set<number>
  retrying?: boolean
}

interface Parts {
  kit: Pick<Kit, 'db' | 'signals' | 'members' | 'log'>
  gateway: Pick<Gateway, 'sendHere' | 'connectionOf' | 'nodesOf'>
  carriers: CommandCarrier[]
  /** The commands that were pushed, by connection of an endpoint. */
  pushed: WeakMap<object, Pushed>
  /** For each endpoint whose commands are being read and pushed: the type and id of commands whose results arrived meanwhile. */
  answered: Map<string, Set<string>>
  dispatched(endpoint: store.EndpointKey, commands: store.OutstandingRow[]): void
  inOrder<T>(key: string, work: () => Promise<T>): Promise<T>
  position(endpoint: store.EndpointKey): Promise<store.Position | undefined>
  /** Starts work whose failure is only logged, because the device gets its commands with the next push, poll or connect. */
  start(endpointIds: string[], work: () => Promise<unknown>): void
}

const positionsPerStatement = 500
const retryMs = 1000

export function createDispatch({ kit, gateway, dispatched }: Pick<Parts, 'kit' | 'gateway' | 'dispatched'>): Dispatch {
  const running = new Set<Promise<void>>()
  const parts: Parts = {
    kit,
    gateway,
    dispatched,
    carriers: [],
    pushed: new WeakMap(),
    answered: new Map(),
    inOrder: createKeyedMutex().run,
    position: createBatcher<store.EndpointKey, store.Position>(
      (endpoints) => store.findPositions(kit.db.sql, endpoints),
      positionsPerStatement,
    ),
    start(endpointIds, work) {
      const run = work()
        .then(
          () => {},
          (error) => pushFailed(kit.log, { err: error, endpointIds: endpointIds.slice(0, 10) }),
        )
        .finally(() => running.delete(run))
      running.add(run)
    },
  }
  kit.signals.on(CommandsWaiting, ({ endpoints }) => {
    for (const endpoint of endpoints) parts.start([endpoint.endpointId], () => catchUp(parts, endpoint))
  })
  kit.signals.on(CommandOnce, ({ id, type, payload, ...endpoint }) => {
    parts.start([endpoint.endpointId], () => sendOnce(parts, endpoint, { id, type, payload }))
  })
  return {
    addCarrier: (carrier) => void parts.carriers.push(carrier),
    async committing(sql, endpoints) {
      await signal(parts, sql, notConnectedHere(parts, endpoints))
      for (const carrier of parts.carriers) await carrier.committing(sql, endpoints)
    },
    areHere: (endpoints) => endpoints.every(({ endpointId }) => gateway.connectionOf(endpointId) !== undefined),
    committed(fresh) {
      committed(parts, fresh)
      for (const carrier of parts.carriers) carrier.committed(fresh)
    },
    once: (endpoint, command) => once(parts, endpoint, command),
    tryOnce: (endpoint, command) => parts.start([endpoint.endpointId], () => once(parts, endpoint, command)),
    catchUp: (endpoint) => catchUp(parts, endpoint),
    answered: (endpointId, type, id) => void parts.answered.get(endpointId)?.add(`${type} ${id}`),
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Returns the endpoints that have no connection to this node but may have one to another node. */
const notConnectedHere = ({ kit, gateway }: Parts, endpoints: store.EndpointKey[]) =>
  kit.members.isAlone() ? [] : endpoints.filter(({ endpointId }) => !gateway.connectionOf(endpointId))

async function signal({ kit, gateway }: Parts, sql: Sql, endpoints: store.EndpointKey[]) {
  if (endpoints.length === 0) return
  const nodes = await gateway.nodesOf(
    sql,
    endpoints.map(({ endpointId }) => endpointId),
  )
  const found = endpoints.filter(({ endpointId }) => nodes.has(endpointId))
  const messages = [...Map.groupBy(found, ({ endpointId }) => nodes.get(endpointId)!)].map(([node, endpoints]) => ({
    to: `node/${node}` as const,
    payload: { endpoints },
  }))
  if (sql !== kit.db.sql) await kit.signals.sendEach(sql, CommandsWaiting, messages)
  else await Promise.all(messages.map(({ to, payload }) => kit.signals.sendNow(to, CommandsWaiting, payload)))
}

/**
 * Pushes the new commands of endpoints that are connected to this node. Looks up the nodes of the other endpoints once more: if an endpoint
 * connected to another node during the transaction, either this lookup finds that node, or that node reads the commands after it has
 * recorded the connection.
 */
function committed(parts: Parts, fresh: Fresh[]) {
  for (const one of fresh)
    if (parts.gateway.connectionOf(one.endpointId))
      parts.start([one.endpointId], () => catchUp(parts, one, one.commands))
  const others = notConnectedHere(parts, fresh).map(({ tenantId, endpointId }) => ({ tenantId, endpointId }))
  if (others.length > 0)
    parts.start(
      others.map(({ endpointId }) => endpointId),
      () => signal(parts, parts.kit.db.sql, others),
    )
}

const catchUp = (parts: Parts, endpoint: store.EndpointKey, fresh?: store.OutstandingRow[]) =>
  parts.inOrder(endpoint.endpointId, async () => {
    const connection = parts.gateway.connectionOf(endpoint.endpointId)
    if (!connection) return
    const state = parts.pushed.get(connection)
    // The ids directly follow the ids of the last push, so there are no other new commands to read.
    if (fresh && state && fresh[0]!.id === state.upTo + 1) await pushAll(parts, endpoint, connection, state, fresh)
    else {
      // While the commands are read, a device that reconnects may send results again. Commands with such results must not be pushed.
      parts.answered.set(endpoint.endpointId, new Set())
      try {
        await readAndPush(parts, endpoint, connection, state ?? { upTo: 0 })
      } finally {
        parts.answered.delete(endpoint.endpointId)
      }
    }
  })

async function readAndPush(parts: Parts, endpoint: store.EndpointKey, connection: object, state: Pushed) {
  const { pushed, kit } = parts
  // The greatest id of the endpoint is read first. A command up to this id that is not among the commands that are read next has ended.
  // `upTo` can therefore be set to this id.
  const position = await parts.position(endpoint)
  for (let more = position?.isWaiting === true; more; ) {
    const after = state.upTo
    const { commands, hasMore } = await store.findOutstanding(kit.db.sql, endpoint, {
      after,
      bytesMax: messageBytesMax,
    })
    if (commands.length > 0 && !(await pushAll(parts, endpoint, connection, state, commands))) return
    more = hasMore
  }
  state.upTo = Math.max(state.upTo, position?.lastId ?? 0)
  pushed.set(connection, state)
}

/**
 * Pushes commands by type. Returns false if a push failed. If it failed because the queue of the connection is full, it is retried after a
 * second. A type that the device does not observe counts as pushed.
 */
async function pushAll(
  parts: Parts,
  endpoint: store.EndpointKey,
  connection: object,
  state: Pushed,
  commands: store.OutstandingRow[],
): Promise<boolean> {
  const due = commands.filter(({ id }) => !state.beyond?.has(id))
  for (const [type, ofType] of Map.groupBy(due, (command) => command.type)) {
    const failed = await pushType(parts, endpoint, connection, state, type, ofType)
    if (failed === 'queue_full') {
      parts.pushed.set(connection, state)
      retry(parts, endpoint, state)
    }
    if (failed) return false
  }
  state.upTo = Math.max(state.upTo, commands.at(-1)!.id)
  delete state.beyond
  parts.pushed.set(connection, state)
  return true
}

/** Pushes commands of one type; their halves if the device does not accept such a large packet. Returns the reason if a push failed. */
async function pushType(
  parts: Parts,
  endpoint: store.EndpointKey,
  connection: object,
  state: Pushed,
  type: string,
  commands: store.OutstandingRow[],
): Promise<'not_connected' | 'queue_full' | undefined> {
  const { gateway } = parts
  if (gateway.connectionOf(endpoint.endpointId) !== connection) return 'not_connected'
  const answered = parts.answered.get(endpoint.endpointId)
  const outcome = await gateway.sendHere(
    endpoint.endpointId,
    commandPush(type, commands),
    answered && (() => pushOfUnanswered(type, commands, answered)),
  )
  if (outcome === 'not_connected' || outcome === 'queue_full') return outcome
  if (outcome === 'packet_too_large' && commands.length > 1) {
    const middle = commands.length >> 1
    const pushPart = (part: store.OutstandingRow[]) => pushType(parts, endpoint, connection, state, type, part)
    return (await pushPart(commands.slice(0, middle))) ?? (await pushPart(commands.slice(middle)))
  }
  if (outcome === 'sent') parts.dispatched(endpoint, commands)
  state.beyond ??= new Set()
  for (const { id } of commands) state.beyond.add(id)
  return undefined
}

function pushOfUnanswered(type: string, commands: store.OutstandingRow[], answered: Set<string>) {
  const left = answered.size === 0 ? commands : commands.filter(({ id }) => !answered.has(`${type} ${id}`))
  return left.length === 0 ? undefined : commandPush(type, left)
}

/** Retries the push later. A device that reads slowly then gets the other commands when its queue has space. */
function retry(parts: Parts, endpoint: store.EndpointKey, state: Pushed) {
  if (state.retrying) return
  state.retrying = true
  setTimeout(() => {
    state.retrying = false
    parts.start([endpoint.endpointId], () => catchUp(parts, endpoint))
  }, retryMs).unref()
}

async function once(parts: Parts, endpoint: store.EndpointKey, command: store.OutstandingRow): Promise<boolean> {
  const { kit, gateway } = parts
  const { endpointId } = endpoint
  if (gateway.connectionOf(endpointId)) return await sendOnce(parts, endpoint, command)
  const node = kit.members.isAlone() ? undefined : (await gateway.nodesOf(kit.db.sql, [endpointId])).get(endpointId)
  if (node === undefined) {
    for (const carrier of parts.carriers) if (await carrier.once(endpoint, command)) return true
    return false
  }
  return await kit.signals.sendNow(`node/${node}`, CommandOnce, { ...endpoint, ...command })
}

const sendOnce = (parts: Parts, endpoint: store.EndpointKey, command: store.OutstandingRow) =>
  parts.inOrder(endpoint.endpointId, async () => {
    const { gateway, pushed } = parts
    const connection = gateway.connectionOf(endpoint.endpointId)
    if (!connection) return false
    const isSent = (await gateway.sendHere(endpoint.endpointId, commandPush(command.type, [command]))) === 'sent'
    if (isSent) parts.dispatched(endpoint, [command])
    // The id counts as pushed. If there is no gap before it, the next command can be pushed without reading the database.
    const state = pushed.get(connection)
    if (state && state.upTo === command.id - 1) state.upTo = command.id
    return isSent
  })
