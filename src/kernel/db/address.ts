/**
 * Parses the address of a database. Every command reads the settings, so this file avoids slow imports: it loads neither the driver nor all
 * of node:fs.
 */

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

export const defaultPort = 5432

const urlPattern = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

export function parseUrl(url: string): { hosts: Host[]; login: Login; options: string | undefined } {
  const match = urlPattern.exec(url)
  // The message does not repeat the address, which may contain a password.
  if (!match) throw new Error('The database address does not have the form postgres://user:password@host:port/name')
  const [, userInfo = '', hostList = '', name = '', query = ''] = match
  const settings = new URLSearchParams(query)
  const [user = '', ...password] = userInfo.split(':')
  const login: Login = {}
  if (user) login.user = decodeURIComponent(user)
  if (password.length > 0) login.password = decodeURIComponent(password.join(':'))
  if (name) login.database = decodeURIComponent(name)
  const ssl = sslOf(settings)
  if (ssl !== undefined) login.ssl = ssl
  const hostTexts = settings.get('host') ?? decodeURIComponent(hostList)
  const port = parsePort(settings.get('port') ?? String(defaultPort))
  const hosts = (hostTexts || 'localhost').split(',').map((hostText) => parseHost(hostText, port))
  return { hosts, login, options: settings.get('options') ?? undefined }
}

function parseHost(hostText: string, fallbackPort: number): Host {
  // The path of a socket directory contains no port.
  if (hostText.startsWith('/')) return { host: hostText, port: fallbackPort }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(hostText) ?? []
  const host = bracketed ?? plain
  if (host === undefined) throw new Error(`The database address has an invalid host: ${hostText}`)
  return { host: host || 'localhost', port: port === undefined ? fallbackPort : parsePort(port) }
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new Error(`The database address has an invalid port: ${text}`)
  return port
}

/** Follows libpq: `require` only encrypts; `verify-ca` and `verify-full` also check the certificate. */
function sslOf(settings: URLSearchParams): Login['ssl'] {
  const mode = settings.get('sslmode') ?? settings.get('ssl')
  if (mode === null || ['disable', 'false', '0'].includes(mode)) return mode === null ? undefined : false
  const read = (name: string) => {
    const file = settings.get(name)
    return file === null ? undefined : process.getBuiltinModule('node:fs').readFileSync(file, 'utf8')
  }
  const files = { ca: read('sslrootcert'), cert: read('sslcert'), key: read('sslkey') }
  const certificates = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined))
  switch (mode) {
    case 'verify-full':
      return { ...certificates }
    case 'verify-ca':
      return { ...certificates, checkServerIdentity: () => undefined }
    case 'require':
    case 'prefer':
    case 'allow':
    case 'no-verify':
    case 'true':
    case '1':
      return { ...certificates, rejectUnauthorized: false }
    default:
      throw new Error(`The database address has an unknown sslmode=${mode}`)
  }
}
