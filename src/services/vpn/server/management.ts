/** The management interface of OpenVPN: parses its notifications, and writes commands. */

export interface ClientNotice {
  kind: 'CONNECT' | 'REAUTH' | 'ESTABLISHED' | 'DISCONNECT'
  /** `cid` is the number of the connection, `kid` the number of the key exchange that waits for an answer. */
  cid: string
  kid: string
  env: Map<string, string>
}

export interface ManagementListener {
  client(notice: ClientNotice): void
  /** Called when OpenVPN waits for the command `hold release` before it starts. */
  hold(): void
  state(name: string): void
}

const kinds = new Set(['CONNECT', 'REAUTH', 'ESTABLISHED', 'DISCONNECT'])
/** Maximum length of a line. A notification has about 5 KB, and a line that never ends must not fill the memory. */
const lineMax = 65_536

/** Returns a function that parses the output of the management interface. Each call gets the next piece, which may end within a line. */
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

/**
 * Returns the command that accepts a client with its fixed address. It consists only of numbers and addresses that the platform generates.
 */
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
/** Returns the command that requests the client to disconnect. OpenVPN itself drops the client after five seconds. */
export const haltCommand = (cid: string) => `client-kill ${cid} HALT\n`
/** Returns the command that drops the connections of a client immediately. `id` is a UUID from the database. */
export const dropCommand = (id: string) => `kill ${id}\n`
