/** Finds the host of a database that accepts writes. */
import { defaultPort, type Host, type Login, parseUrl } from './address.ts'
import { ConnectionError } from './errors.ts'

/** The hosts of one database, shared by all connections of a process. */
export interface Server {
  readonly hosts: readonly Host[]
  readonly login: Login
  /** Further session settings, such as `-c search_path=x`. */
  readonly options: string | undefined
  /** Increases when the current host rejects a write. Connections with an older epoch are dropped. */
  readonly epoch: number
  /** Number of statements that were answered, on all connections. */
  answered: number
  /** Reports that the current host rejects writes; the next connection goes to the next host. */
  reportReadOnly(): void
  /** Tries the hosts in order, starting with the host of the last successful connection. */
  tryHosts<T>(open: (host: Host) => Promise<T>): Promise<T>
}

/** The address of a database, or its parts. `url` may have several hosts: `postgres://user:password@one:5432,two:5432/name`. */
export interface ConnectionOptions {
  url?: string
  host?: string
  port?: number
  user?: string
  password?: string
  database?: string
}

export function serverOf(connection: ConnectionOptions): Server {
  const { hosts, login, options } = connection.url ? parseUrl(connection.url) : serverFromParts(connection)
  let epoch = 0
  let currentIndex = 0
  return {
    hosts,
    login,
    options,
    answered: 0,
    get epoch() {
      return epoch
    },
    reportReadOnly() {
      epoch++
      if (hosts.length > 1) currentIndex = (currentIndex + 1) % hosts.length
    },
    async tryHosts(open) {
      const first = currentIndex
      let problem: unknown
      for (let attempt = 0; attempt < hosts.length; attempt++) {
        const index = (first + attempt) % hosts.length
        try {
          const opened = await open(hosts[index]!)
          currentIndex = index
          return opened
        } catch (error) {
          problem = moreUseful(problem, error)
        }
      }
      throw problem
    },
  }
}

/** Prefers the errors of this module: "this host accepts no writes" helps an operator more than "connection refused". */
const moreUseful = (earlier: unknown, later: unknown) => (earlier instanceof ConnectionError ? earlier : later)

function serverFromParts({ host = 'localhost', port = defaultPort, user, password, database }: ConnectionOptions) {
  const login = { ...(user && { user }), ...(password && { password }), ...(database && { database }) }
  return { hosts: [{ host, port }], login, options: undefined }
}
