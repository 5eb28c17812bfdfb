/** One open connection to PostgreSQL: a pipelined client of `pg`, and the statements prepared on it. */
import type { Socket } from 'node:net'
import { Client, DatabaseError } from 'pg'
import { monotonicMs } from '../clock.ts'
import type { Host } from './address.ts'
import { ConnectionError, isReadOnly } from './errors.ts'
import type { Server } from './hosts.ts'
import { createLargeRows, type LargeRows } from './large-rows.ts'
import { createMessages, type Messages } from './messages.ts'
import { createPrepared, type Prepared } from './prepared.ts'

/** The part of the connection object of `pg` that our queries use. */
export interface Wire {
  stream: Socket
  endCopyFrom(): void
  sendCopyFail(message: string): void
  on(event: string, listener: (message: never) => void): void
}

/** The methods that `pg` calls when it sends a query and reads its answer; see query.ts. */
export interface Query {
  submit(wire: Wire): null
  handleError(error: Error): void
}

export interface Link {
  readonly server: Server
  readonly prepared: Prepared
  readonly messages: Messages
  /** Receives large rows of a COPY. */
  largeRows(): LargeRows
  /** Number of statements that were sent and are not answered yet. */
  inFlight: number
  /** The time at which the connection began to wait for its next answer. It is valid while statements are in flight. */
  waitingSince: number
  /** True while a COPY FROM STDIN uses the connection. Nothing else may be sent between its data. */
  copying: boolean
  /** True while the connection has an exclusive owner, such as a transaction. */
  inUse: boolean
  /** True if statements have a time limit. A statement that takes much longer than this limit counts as hung. */
  hasTimeLimit: boolean
  /** True once the connection accepts no further statements. */
  retired: boolean
  lost: Error | undefined
  /** Number of answers so far. A periodic check of the pool compares it with the previous number to find idle and hung connections. */
  answers: number
  /** Set by the pool; called for each answer. */
  onAnswer: () => void
  /** Set by the pool; called once when the connection is lost. */
  onLost: (error: Error) => void
  onNotification: (channel: string, payload: string) => void
  send(query: Query): void
  /** Ends a COPY and sends the statements that waited for it. */
  endCopy(): void
  /** Handles an error that the server returned. */
  handleServerError(error: Error): void
  isIdleOutsideTransaction(): boolean
  /** The id of the server process for this connection; undefined if the server has not sent it. */
  processId(): number | undefined
  /** Stops reading answers until `resume`. */
  pause(): void
  resume(): void
  /** Closes the connection once all statements are answered. */
  end(): Promise<void>
  destroy(error: Error): void
}

export interface LinkOptions {
  name: string
  plans?: 'once' | undefined
  /** Time limit of a statement in seconds; 0 means no limit. */
  statementSeconds: number
  rowName: (column: string) => string
}

const connectSeconds = 10
/** The code of PostgreSQL for a connection that would exceed max_connections or the limit of the role or database. */
const tooManyConnections = '53300'

/** Opens a connection to one host. The connection's settings fix the formats of dates and bytes, because values.ts parses these formats. */
export async function openLink(server: Server, host: Host, options: LinkOptions): Promise<Link> {
  const settings = ['-c TimeZone=UTC', '-c DateStyle=ISO,YMD', '-c bytea_output=hex']
  if (options.plans === 'once') settings.push('-c plan_cache_mode=force_generic_plan')
  if (server.options) settings.push(server.options)
  const client = new Client({
    ...server.login,
    ...host,
    application_name: options.name,
    options: settings.join(' '),
    statement_timeout: options.statementSeconds * 1000,
    connectionTimeoutMillis: connectSeconds * 1000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    pipeline: true,
  } as ConstructorParameters<typeof Client>[0])
  const wire = (client as unknown as { connection: Wire }).connection
  const state = { readOnly: false }
  const link = createLink(client, wire, server, options)
  wire.on('parameterStatus', ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
    if (parameterName !== 'in_hot_standby' && parameterName !== 'default_transaction_read_only') return
    if (parameterValue !== 'on') return
    state.readOnly = true
    if (server.hosts.length > 1) link.retired = true
  })
  try {
    await client.connect()
  } catch (error) {
    client.end().catch(() => {})
    throw connectError(error as Error, host)
  }
  if (state.readOnly && server.hosts.length > 1) {
    void link.end()
    throw new ConnectionError('CONNECTION_READ_ONLY', `The database at ${host.host}:${host.port} accepts no writes`)
  }
  return link
}

/** Says which server failed and what an operator can change. The error keeps its type and its code, by which callers know it. */
function connectError(error: Error, { host, port }: Host): Error {
  const { syscall, code } = error as NodeJS.ErrnoException
  if (syscall === 'connect' || syscall === 'getaddrinfo')
    error.message = `The database at ${host}:${port} cannot be reached: ${error.message}`
  if (code === tooManyConnections)
    error.message =
      `The database at ${host}:${port} accepts no more connections: ${error.message}; ` +
      'raise its max_connections, or lower WAYPOST_DATABASE_CONNECTIONS'
  if (error instanceof DatabaseError || (error as { code?: unknown }).code !== undefined) return error
  if (error.message.includes('timeout expired'))
    return new ConnectionError('CONNECTION_TIMEOUT', `The database did not answer within ${connectSeconds} s`, error)
  if (error.message.includes('terminated'))
    return new ConnectionError(
      'CONNECTION_CLOSED',
      'The database closed the connection while it was being opened',
      error,
    )
  return error
}

function createLink(client: Client, wire: Wire, server: Server, options: LinkOptions): Link {
  const waiting: Query[] = []
  let largeRows: LargeRows | undefined

  function lose(error: Error) {
    if (link.lost) return
    link.lost = error
    link.retired = true
    for (const query of waiting.splice(0)) query.handleError(error)
    link.onLost(error)
  }

  const link: Link = {
    server,
    prepared: createPrepared(options.rowName),
    messages: createMessages(() => wire.stream),
    largeRows() {
      largeRows ??= createLargeRows(wire.stream)
      return largeRows
    },
    inFlight: 0,
    waitingSince: 0,
    copying: false,
    inUse: false,
    hasTimeLimit: options.statementSeconds > 0,
    retired: false,
    lost: undefined,
    answers: 0,
    onAnswer: () => {},
    onLost: () => {},
    onNotification: () => {},
    send(query) {
      if (link.inFlight++ === 0) link.waitingSince = monotonicMs()
      if (link.lost) query.handleError(link.lost)
      else if (link.copying) waiting.push(query)
      else client.query(query as never)
    },
    endCopy() {
      link.copying = false
      while (waiting.length > 0 && !link.copying && !link.lost) client.query(waiting.shift() as never)
    },
    handleServerError(error) {
      if (isReadOnly(error)) {
        server.reportReadOnly()
        link.retired = true
      }
      const { severity } = error as DatabaseError
      if (severity === 'FATAL' || severity === 'PANIC') lose(error)
    },
    isIdleOutsideTransaction: () =>
      link.inFlight === 0 && (client as unknown as { getTransactionStatus(): string }).getTransactionStatus() === 'I',
    processId: () => (client as unknown as { processID: number | null }).processID ?? undefined,
    pause: () => void wire.stream.pause(),
    resume: () => void wire.stream.resume(),
    async end() {
      link.retired = true
      if (!link.lost) await client.end().catch(() => {})
    },
    destroy(error) {
      lose(error)
      wire.stream.destroy()
    },
  }
  client.on('notification', ({ channel, payload }) => link.onNotification(channel, payload ?? ''))
  client.on('error', (error) => lose(connectionLossError(error)))
  client.on('end', () => lose(new ConnectionError('CONNECTION_CLOSED', 'The connection to the database is closed')))
  return link
}

/**
 * Returns the error for statements in flight on a lost connection. An error without a code gets a code, because errors of `pg` itself have
 * no code.
 */
export const connectionLossError = (error: Error): Error =>
  (error as { code?: unknown }).code === undefined
    ? new ConnectionError('CONNECTION_CLOSED', 'The connection to the database was lost', error)
    : error
