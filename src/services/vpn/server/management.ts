/** The management interface of OpenVPN: parses its notifications, and writes commands. */

export interface ClientNotice {
  kind: 'CONNECT' | 'REAUTH' | 'ESTABLISHED' | 'DISCONNECT'
  /** Number of the connection, and of the key exchange that waits for an answer. */
  cid: string
  kid: string
  env: Map<string, string>
}

export interface ManagementListener {
  client(notice: ClientNotice): void
  /** OpenVPN waits for permission to begin. */
  hold(): void
  state(name: string): void
}

const kinds = new Set(['CONNECT', 'REAUTH', 'ESTABLISHED', 'DISCONNECT'])
/** Maximum length of a line. A notification has some 5 KB; a line that never ends must not fill the memory. */
const lineMax = 65_536

/** Returns a function that takes what OpenVPN writes, in pieces of any size. */
export function createManagementParser(listener: ManagementListener): (chunk: string) => void {
  let rest = ''
  let notice: ClientNotice | undefined

  function takeClientLine(text: string) {
    if (text.startsWith('ENV,')) {
      const entry = text.slice(4)
      if (entry === 'END') {
        if (notice) listener.client(notice)
        notice = undefined
        return
      }
      const at = entry.indexOf('=')
      if (at > 0) notice?.env.set(entry.slice(0, at), entry.slice(at + 1))
      return
    }
    const [kind = '', cid = '', kid = ''] = text.split(',')
    notice =
      kinds.has(kind) && /^\d+$/.test(cid)
        ? { kind: kind as ClientNotice['kind'], cid, kid, env: new Map<string, string>() }
        : undefined
  }

  return (chunk) => {
    rest += chunk
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = rest.slice(0, end).replace(/\r$/, '')
      rest = rest.slice(end + 1)
      if (line.startsWith('>CLIENT:')) takeClientLine(line.slice(8))
      else if (line.startsWith('>HOLD:')) listener.hold()
      else if (line.startsWith('>STATE:')) listener.state(line.split(',')[1] ?? '')
    }
    if (rest.length > lineMax) rest = ''
  }
}

/** Accepts a client with its fixed address. All parts are numbers and addresses of our own. */
export const acceptCommand = (
  { cid, kid }: Pick<ClientNotice, 'cid' | 'kid'>,
  { address, netmask, gateway }: { address: string; netmask: string; gateway: string },
) =>
  [
    `client-auth ${cid} ${kid}`,
    `ifconfig-push ${address} ${netmask}`,
    `push "route-gateway ${gateway}"`,
    'END',
    '',
  ].join('\n')

export const acceptRenewalCommand = ({ cid, kid }: Pick<ClientNotice, 'cid' | 'kid'>) =>
  `client-auth-nt ${cid} ${kid}\n`
export const denyCommand = ({ cid, kid }: Pick<ClientNotice, 'cid' | 'kid'>) => `client-deny ${cid} ${kid} "denied"\n`
/** Asks the client to end; OpenVPN itself drops it after five seconds. */
export const haltCommand = (cid: string) => `client-kill ${cid} HALT\n`
/** Drops the connections of a client at once; `id` is a UUID from the database. */
export const dropCommand = (id: string) => `kill ${id}\n`
