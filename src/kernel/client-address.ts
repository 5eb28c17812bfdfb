/** The address of a client, behind proxies too: X-Forwarded-For is read from the right, as far as our own proxies wrote it. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, SocketAddress } from 'node:net'

/** Whether the address at this distance is one of our proxies; the peer of the connection has distance 0. */
export type IsProxy = (address: string, distance: number) => boolean

export const noProxy: IsProxy = () => false

/** More proxies than this in a row are somebody's mistake or attack. */
const proxiesMax = 16

/** What WAYPOST_TRUST_PROXY means; a text says what is wrong with it. */
export function readTrustProxy(value: string): IsProxy | string {
  if (value === 'off') return noProxy
  if (/^\d+$/.test(value)) {
    const hops = Number(value)
    return hops >= 1 && hops <= proxiesMax ? (_, distance) => distance < hops : expected
  }
  const networks = new BlockList()
  for (const text of value.split(',')) {
    const problem = addNetwork(networks, text.trim())
    if (problem) return problem
  }
  return (address) => isIn(networks, address)
}

const expected = `off, the number of proxies in front (1 to ${proxiesMax}), or their networks (10.0.0.0/8,fd00::/8)`

function addNetwork(networks: BlockList, text: string): string | undefined {
  const [given = '', bits, ...rest] = text.split('/')
  const address = canonical(given)
  if (address === undefined || rest.length > 0 || given.includes('%')) return expected
  const [family, bitsMax] = isIP(address) === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const)
  if (bits === undefined) networks.addAddress(address, family)
  // A prefix of 0 would trust everybody.
  else if (!/^\d{1,3}$/.test(bits) || Number(bits) < 1 || Number(bits) > bitsMax) return expected
  else networks.addSubnet(address, Number(bits), family)
  return undefined
}

const isIn = (networks: BlockList, address: string) =>
  isIP(address) !== 0 && networks.check(address, address.includes(':') ? 'ipv6' : 'ipv4')

/** One text for an address, however it is written: lower case, zeros left out, IPv4 as such. Undefined: it is none. */
function canonical(text: string): string | undefined {
  const family = isIP(text)
  if (family === 0) return undefined
  return family === 4 ? text : plainAddress(new SocketAddress({ address: text, family: 'ipv6' }).address)
}

/** IPv4 as such, also where the system shows it as IPv6. */
export const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

/** `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`. */
function addressOfEntry(entry: string): string | undefined {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? canonical(bracketed) : undefined
  const [, withoutPort] = /^([\d.]+):\d{1,5}$/.exec(entry) ?? []
  return canonical(withoutPort ?? entry)
}

/**
 * The nearest address that is not one of our proxies. An entry that is no address ends the search: whoever passed it on is the
 * client as far as anybody knows.
 */
export function clientAddress({ socket, headers }: IncomingMessage, isProxy: IsProxy): string {
  let address = plainAddress(socket.remoteAddress)
  if (!isProxy(address, 0)) return address
  // Node.js joins several headers of this name, in their order.
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

/** IPv4 addresses count one by one, IPv6 addresses by their /64: a single host has all of that. */
export function networkOf(given: string): string {
  const address = given.includes(':') ? plainAddress(given) : given
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const levels = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    while (levels.length + last.length < 8) levels.push('0')
  }
  return `${levels
    .slice(0, 4)
    .map((level) => Number.parseInt(level, 16).toString(16))
    .join(':')}::/64`
}
