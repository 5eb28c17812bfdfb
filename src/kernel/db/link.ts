/** One connection to PostgreSQL: a pipelined client of `pg`, and what is prepared on it. */
import type { Socket } from 'node:net'
import { Client, DatabaseError } from 'pg'
import { ConnectionError, isReadOnly } from './errors.ts'
import type { Host, Server } from './hosts.ts'
import { createMessages, type Messages } from './messages.ts'
import { createPrepared, type Prepared } from './prepared.ts'

/** The part of `pg`'s connection that our queries use. */
export interface Wire {
  stream: Socket
  endCopyFrom(): void
  sendCopyFail(message: string): void
  on(event: string, listener: (message: never) => void): void
}

/** What `pg` calls while it reads the answers; see query.ts. */
export interface Query {
  submit(wire: Wire): null
  handleError(error: Error): void
}

export interface Link {
  readonly server: Server
  readonly prepared: Prepared
  readonly messages: Messages
  /** Statements that were sent and have no answer yet. */
  inFlight: number
  /** Set while a COPY FROM STDIN owns the connection: nothing may come between its data. */
  copying: boolean
  /** A transaction or another single owner has it. */
  lent: boolean
  /** Statements have a time limit, so one that takes far longer is hung. */
  limited: boolean
  /** No further statement may be given to it. */
  retired: boolean
  lost: Error | undefined
  /** Counts answers, for the sweep that finds idle and hung connections. */
  answers: number
  /** The pool's: an answer arrived. */
  onAnswer: () => void
  /** The pool's: the connection is gone. Called once. */
  onLost: (error: Error) => void
  onNotification: (channel: string, payload: string) => void
  send(query: Query): void
  /** Frees the connection of a finished COPY and sends what waited for it. */
  copied(): void
  /** An error that the server answered. */
  failed(error: Error): void
  isIdleOutsideTransaction(): boolean
  /** Reads no answers until `resume`. */
  pause(): void
  resume(): void
  /** Says goodbye once everything sent is answered. */
  end(): Promise<void>
  destroy(error: Error): void
}

export interface LinkOptions {
  name: string
  plans?: 'once' | undefined
  /** 0: statements may take as long as they like. */
  statementSeconds: number
  rowName: (column: string) => string
}

const connectSeconds = 10

/** Opens a connection to one host. The texts of dates and bytes must be those that values.ts reads. */
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
  const link = linkOf(client, wire, server, options)
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
    throw connectError(error as Error)
  }
  if (state.readOnly && server.hosts.length > 1) {
    void link.end()
    throw new ConnectionError('CONNECTION_READ_ONLY', `The database at ${host.host}:${host.port} accepts no writes`)
  }
  return link
}

function connectError(error: Error): Error {
  if (error instanceof DatabaseError || (error as { code?: unknown }).code !== undefined) return error
  if (error.message.includes('timeout expired'))
    return new ConnectionError('CONNECTION_TIMEOUT', `The database did not answer within ${connectSeconds} s`, error)
  if (error.message.includes('terminated'))
    return new ConnectionError('CONNECTION_CLOSED', 'The database closed the connection while it was opened', error)
  return error
}

function linkOf(client: Client, wire: Wire, server: Server, options: LinkOptions): Link {
  const waiting: Query[] = []

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
    inFlight: 0,
    copying: false,
    lent: false,
    limited: options.statementSeconds > 0,
    retired: false,
    lost: undefined,
    answers: 0,
    onAnswer: () => {},
    onLost: () => {},
    onNotification: () => {},
    send(query) {
      link.inFlight++
      if (link.lost) query.handleError(link.lost)
      else if (link.copying) waiting.push(query)
      else client.query(query as never)
    },
    copied() {
      link.copying = false
      while (waiting.length > 0 && !link.copying && !link.lost) client.query(waiting.shift() as never)
    },
    failed(error) {
      if (isReadOnly(error)) {
        server.suspect()
        link.retired = true
      }
      const { severity } = error as DatabaseError
      if (severity === 'FATAL' || severity === 'PANIC') lose(error)
    },
    isIdleOutsideTransaction: () =>
      link.inFlight === 0 && (client as unknown as { getTransactionStatus(): string }).getTransactionStatus() === 'I',
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
  client.on('error', (error) => lose(lossOf(error)))
  client.on('end', () => lose(new ConnectionError('CONNECTION_CLOSED', 'The connection to the database is closed')))
  return link
}

/** The reason for which statements in flight fail; `pg` gives its own errors no code. */
export const lossOf = (error: Error): Error =>
  (error as { code?: unknown }).code === undefined
    ? new ConnectionError('CONNECTION_CLOSED', 'The connection to the database was lost', error)
    : error
