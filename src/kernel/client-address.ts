/**
 * Determines the address of a client, even behind proxies. The entries of X-Forwarded-For are read from right to left, as long as the proxy
 * that added the entry is trusted.
 */
import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'

// `node:net` is not imported with `import`, which would read all of its exports and thereby load the block lists. That would take 5 ms for
// every command.
const net = process.getBuiltinModule('node:net')

/** Returns whether the address is a trusted proxy. `distance` counts hops; the peer of the connection has distance 0. */
export type IsProxy = (address: string, distance: number) => boolean

export const noProxy: IsProxy = () => false

/** Maximum number of proxies in a row; more are a mistake or an attack. */
const proxiesMax = 16

/** Parses WAYPOST_TRUST_PROXY. If the value is invalid, returns a text with the expected values. */
export function readTrustProxy(value: string): IsProxy | string {
  if (value === 'off') return noProxy
  if (/^\d+$/.test(value)) {
    const hops = Number(value)
    return hops >= 1 && hops <= proxiesMax ? (_, distance) => distance < hops : expectedValue
  }
  const networks = new net.BlockList()
  for (const text of value.split(',')) {
    const problem = addNetwork(networks, text.trim())
    if (problem) return problem
  }
  return (address) => isInNetworks(networks, address)
}

const expectedValue = `off, the number of proxies in front (1 to ${proxiesMax}), or their networks (10.0.0.0/8,fd00::/8)`

function addNetwork(networks: BlockList, text: string): string | undefined {
  const [addressText = '', bits, ...rest] = text.split('/')
  const address = canonicalAddress(addressText)
  if (address === undefined || rest.length > 0 || addressText.includes('%')) return expectedValue
  const [family, bitsMax] = net.isIP(address) === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const)
  if (bits === undefined) networks.addAddress(address, family)
  // A prefix of 0 would trust every address.
  else if (!/^\d{1,3}$/.test(bits) || Number(bits) < 1 || Number(bits) > bitsMax) return expectedValue
  else networks.addSubnet(address, Number(bits), family)
  return undefined
}

const isInNetworks = (networks: BlockList, address: string) =>
  net.isIP(address) !== 0 && networks.check(address, address.includes(':') ? 'ipv6' : 'ipv4')

/**
 * Returns the canonical text of an address: lower case, without leading zeros, IPv4-mapped addresses as IPv4. Returns undefined if the text
 * is not an address.
 */
function canonicalAddress(text: string): string | undefined {
  const family = net.isIP(text)
  if (family === 0) return undefined
  return family === 4 ? text : plainAddress(new net.SocketAddress({ address: text, family: 'ipv6' }).address)
}

/** Turns an IPv4-mapped IPv6 address into IPv4. */
export const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

/**
 * Returns the address in an entry such as `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`; otherwise
 * undefined.
 */
function addressOfEntry(entry: string): string | undefined {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry) ?? []
  if (bracketed !== undefined) return net.isIP(bracketed) === 6 ? canonicalAddress(bracketed) : undefined
  const [, withoutPort] = /^([\d.]+):\d{1,5}$/.exec(entry) ?? []
  return canonicalAddress(withoutPort ?? entry)
}

/**
 * Returns the nearest address that is not a trusted proxy. An entry that is not an address ends the search. The proxy that sent it then
 * counts as the client.
 */
export function clientAddress({ socket, headers }: IncomingMessage, isProxy: IsProxy): string {
  let address = plainAddress(socket.remoteAddress)
  if (!isProxy(address, 0)) return address
  // If there are several headers of this name, Node.js joins them in order.
  let rest = headers['x-forwarded-for']?.toString()
  for (let distance = 0; rest !== undefined && distance < proxiesMax && isProxy(address, distance); distance++) {
    const comma: number = rest.lastIndexOf(',')
    const next = addressOfEntry(rest.slice(comma + 1).trim())
    if (next === undefined) break
    address = next
    rest = comma < 0 ? undefined : rest.slice(0, comma)
  }
  return address
}

/**
 * Returns the key under which limits count an address. IPv4 addresses stay as they are. IPv6 addresses become their /64 network, because a
 * single host has a whole /64.
 */
export function networkOf(clientAddress: string): string {
  const address = clientAddress.includes(':') ? plainAddress(clientAddress) : clientAddress
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const tailGroups = tail === '' ? [] : tail.split(':')
    while (groups.length + tailGroups.length < 8) groups.push('0')
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
