/** Which servers a database has, and which of them accepts writes. */
import { readFileSync } from 'node:fs'
import { ConnectionError } from './errors.ts'

export interface Host {
  host: string
  port: number
}

export interface Login {
  user?: string
  password?: string
  database?: string
  ssl?: boolean | object
}

/** The servers of one database as all connections of a process see them. */
export interface Server {
  readonly hosts: readonly Host[]
  readonly login: Login
  /** Further settings of the session, such as `-c search_path=x`. */
  readonly options: string | undefined
  /** Grows when the server in use refused to write: connections that were opened before are given up. */
  readonly epoch: number
  suspect(): void
  /** Tries the hosts in turn, the last good one first. */
  reach<T>(open: (host: Host) => Promise<T>): Promise<T>
}

/** An address, or its parts. `url` may name several hosts: `postgres://user:password@one:5432,two:5432/name`. */
export interface ConnectionOptions {
  url?: string
  host?: string
  port?: number
  user?: string
  password?: string
  database?: string
}

const usualPort = 5432

export function serverOf(connection: ConnectionOptions): Server {
  const { hosts, login, options } = connection.url ? parseUrl(connection.url) : partsOf(connection)
  let epoch = 0
  let good = 0
  return {
    hosts,
    login,
    options,
    get epoch() {
      return epoch
    },
    suspect() {
      epoch++
      if (hosts.length > 1) good = (good + 1) % hosts.length
    },
    async reach(open) {
      const first = good
      let problem: unknown
      for (let turn = 0; turn < hosts.length; turn++) {
        const at = (first + turn) % hosts.length
        try {
          const opened = await open(hosts[at]!)
          good = at
          return opened
        } catch (error) {
          problem = moreTelling(problem, error)
        }
      }
      throw problem
    },
  }
}

/** Of a standby and a server that is down, the standby is what the operator must know. */
const moreTelling = (one: unknown, other: unknown) => (one instanceof ConnectionError ? one : other)

function partsOf({ host = 'localhost', port = usualPort, user, password, database }: ConnectionOptions) {
  const login = { ...(user && { user }), ...(password && { password }), ...(database && { database }) }
  return { hosts: [{ host, port }], login, options: undefined }
}

const shape = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

export function parseUrl(url: string): { hosts: Host[]; login: Login; options: string | undefined } {
  const found = shape.exec(url)
  // The address may hold a password: it is not repeated.
  if (!found) throw new Error('The address of the database is not of the form postgres://user:password@host:port/name')
  const [, userInfo = '', places = '', name = '', query = ''] = found
  const settings = new URLSearchParams(query)
  const [user = '', ...password] = userInfo.split(':')
  const login: Login = {}
  if (user) login.user = decodeURIComponent(user)
  if (password.length > 0) login.password = decodeURIComponent(password.join(':'))
  if (name) login.database = decodeURIComponent(name)
  const ssl = sslOf(settings)
  if (ssl !== undefined) login.ssl = ssl
  const listed = settings.get('host') ?? decodeURIComponent(places)
  const port = portOf(settings.get('port') ?? String(usualPort))
  const hosts = (listed || 'localhost').split(',').map((place) => hostOf(place, port))
  return { hosts, login, options: settings.get('options') ?? undefined }
}

function hostOf(place: string, usual: number): Host {
  // A socket's directory, or an IPv6 address without a port.
  if (place.startsWith('/')) return { host: place, port: usual }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(place) ?? []
  const host = bracketed ?? plain
  if (host === undefined) throw new Error(`The address of the database names a host that is none: ${place}`)
  return { host: host || 'localhost', port: port === undefined ? usual : portOf(port) }
}

function portOf(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new Error(`The address of the database has the port ${text}`)
  return port
}

/** As libpq: `require` encrypts, only `verify-ca` and `verify-full` check the certificate. */
function sslOf(settings: URLSearchParams): Login['ssl'] {
  const mode = settings.get('sslmode') ?? settings.get('ssl')
  if (mode === null || ['disable', 'false', '0'].includes(mode)) return mode === null ? undefined : false
  const read = (name: string) => {
    const file = settings.get(name)
    return file === null ? undefined : readFileSync(file, 'utf8')
  }
  const files = { ca: read('sslrootcert'), cert: read('sslcert'), key: read('sslkey') }
  const given = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined))
  switch (mode) {
    case 'verify-full':
      return { ...given }
    case 'verify-ca':
      return { ...given, checkServerIdentity: () => undefined }
    case 'require':
    case 'prefer':
    case 'allow':
    case 'no-verify':
    case 'true':
    case '1':
      return { ...given, rejectUnauthorized: false }
    default:
      throw new Error(`The address of the database has sslmode=${mode}, which is unknown`)
  }
}
