/**
 * Sends requests to addresses that users entered: webhooks, LoRaWAN hosts, issuers (document 4, section 4). A name is resolved once, all
 * its addresses are checked, and the connection goes to one of these addresses. DNS rebinding therefore has no effect. There are no
 * redirects and no proxies.
 */
import type { LookupAddress } from 'node:dns'
import { lookup as resolve } from 'node:dns/promises'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, isIP } from 'node:net'

export interface SafeFetchOptions {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Time limit of the whole request, including name resolution. */
  timeoutMs?: number
  /** Limit of the response body. */
  maxBytes?: number
  /** True if the operator's setting allows loopback and private addresses, and plain http. */
  allowPrivate: boolean
  /** Allows plain http to a public address too, because some hosts of users offer no https. */
  allowHttp?: boolean
  signal?: AbortSignal | undefined
  /** Replaces name resolution in tests. */
  lookup?: (host: string) => Promise<LookupAddress[]>
}

/** Thrown for an address that the platform must not call on behalf of a user. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

// Networks in IANA's special-purpose registries that are not globally reachable, and networks that lead to such addresses.
const refusedNetworks = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT; some clouds keep their metadata here
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24], // protocol assignments; Oracle's metadata
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // AMT
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16],
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarking
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
  ['168.63.129.16', 32], // Azure's wire server, although public
] as const)
  refusedNetworks.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 96], // unspecified, loopback, IPv4-compatible
  ['64:ff9b:1::', 48], // local NAT64
  ['100::', 64], // discard
  ['2001::', 23], // protocol assignments, Teredo
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['5f00::', 16], // segment routing
  ['fc00::', 7], // unique local; AWS's metadata
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local
  ['ff00::', 8], // multicast
] as const)
  refusedNetworks.addSubnet(network, prefix, 'ipv6')

const ipv4Mapped = new BlockList()
ipv4Mapped.addSubnet('::ffff:0:0', 96, 'ipv6')
const ipv4InLastBits = new BlockList() // an IPv4 address in the last 32 bits
ipv4InLastBits.addSubnet('::ffff:0:0:0', 96, 'ipv6') // IPv4-translated
ipv4InLastBits.addSubnet('64:ff9b::', 96, 'ipv6') // NAT64
const sixToFour = new BlockList() // an IPv4 address in bits 16 to 47
sixToFour.addSubnet('2002::', 16, 'ipv6')

/** Returns the eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const hex = new URL(`http://[${address}]`).hostname.slice(1, -1) // canonical, without dotted decimals
  const [head = '', tail] = hex.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [left, right] = [parse(head), parse(tail ?? '')]
  return tail === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill(0), ...right]
}

const ipv4Text = (high: number, low: number) => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

/** Returns whether an address is loopback, private, link-local, metadata or otherwise not on the public Internet. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 0) return true
  if (family === 4) return refusedNetworks.check(plain, 'ipv4')
  const groups = groupsOf(plain)
  if (ipv4Mapped.check(plain, 'ipv6') || ipv4InLastBits.check(plain, 'ipv6'))
    return refusedNetworks.check(ipv4Text(groups[6]!, groups[7]!), 'ipv4')
  if (sixToFour.check(plain, 'ipv6')) return refusedNetworks.check(ipv4Text(groups[1]!, groups[2]!), 'ipv4')
  return refusedNetworks.check(plain, 'ipv6')
}

/** Returns the problem with an address that a user enters, for a 400. Returns undefined if there is no problem. */
export function addressProblem(
  text: string,
  { allowPrivate, allowHttp = false }: { allowPrivate: boolean; allowHttp?: boolean },
): string | undefined {
  if (!URL.canParse(text)) return 'expected an absolute http or https address'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'expected an absolute http or https address'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (allowPrivate) return undefined
  if (url.protocol === 'http:' && !allowHttp) return 'expected an https address'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLocalName = /(^|\.)(localhost|local|internal)\.?$/i.test(host)
  if (isLocalName || (isIP(host) !== 0 && isPrivateAddress(host))) return 'must not be a loopback or private address'
  return undefined
}

/** Results of earlier checks. They are cached, because the same few addresses are called again and again. */
const checkedAddresses = new Map<string, { url: URL } | { problem: string }>()
const checkedMax = 1000
const checkedLength = 2048

/** Checks an address as `addressProblem` does, and returns the parsed address. */
export function checkAddress(
  text: string,
  options: { allowPrivate: boolean; allowHttp?: boolean },
): { url: URL } | { problem: string } {
  const key = `${options.allowPrivate} ${options.allowHttp} ${text}`
  const known = checkedAddresses.get(key)
  if (known) return known
  const problem = addressProblem(text, options)
  const checked = problem === undefined ? { url: new URL(text) } : { problem }
  if (checkedAddresses.size >= checkedMax) checkedAddresses.clear()
  if (text.length <= checkedLength) checkedAddresses.set(key, checked)
  return checked
}

const systemLookup = (host: string) => resolve(host, { all: true, verbatim: true })

/** Returns a response of any status; throws RefusedAddress, or the error of the connection. */
export async function safeFetch(address: string | URL, options: SafeFetchOptions): Promise<Response> {
  const problem = addressProblem(String(address), options)
  if (problem) throw new RefusedAddress(`${originOf(address)}: ${problem}`)
  const url = new URL(address)
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 5000)
  const signal = options.signal ? AbortSignal.any([deadline, options.signal]) : deadline
  const target = await rejectOnAbort(signal, resolveAddress(url, options))
  return await send(url, target, signal, options)
}

const originOf = (address: string | URL) => (URL.canParse(String(address)) ? new URL(address).origin : 'address')

/** Resolves the host of a URL once, and checks all of its addresses. */
export async function resolveAddress(
  url: URL,
  { allowPrivate, lookup = systemLookup }: Pick<SafeFetchOptions, 'allowPrivate' | 'lookup'>,
): Promise<LookupAddress> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  const addresses = family === 0 ? await lookup(host) : [{ address: host, family }]
  // If one of several addresses is private, this may be an attack, so none of them is used.
  const privateAddress = allowPrivate ? undefined : addresses.find(({ address }) => isPrivateAddress(address))
  if (privateAddress) throw new RefusedAddress(`${url.host} is a loopback or private address`)
  const [first] = addresses
  if (!first) throw new Error(`${url.host} has no address`)
  return first
}

/** Rejects when the signal aborts. The work itself, a name resolution, cannot be interrupted. */
function rejectOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((done, fail) => {
    const stop = () => fail(signal.reason)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(done, fail).finally(() => signal.removeEventListener('abort', stop))
  })
}

function send(url: URL, target: LookupAddress, signal: AbortSignal, options: SafeFetchOptions): Promise<Response> {
  const { method = 'GET', headers = {}, body, maxBytes = 1024 * 1024 } = options
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((done, fail) => {
    const outgoing = request(url, {
      method,
      headers: { 'accept-encoding': 'identity', 'user-agent': 'waypost', ...headers },
      signal,
      agent: false, // no connection is shared between users
      // TLS and the Host header use the name. The connection goes to the checked address.
      lookup: (_host, { all }, answer) =>
        all ? answer(null, [target]) : answer(null, target.address as never, target.family as never),
      maxHeaderSize: 16 * 1024,
    })
    outgoing.on('error', fail)
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= maxBytes) return chunks.push(chunk)
        // The promise must be rejected first, because a body that was already received still causes 'end'.
        fail(new Error(`${url.origin} answered with more than ${maxBytes} bytes`))
        outgoing.destroy()
      })
      response.on('error', fail)
      response.on('end', () => {
        const status = response.statusCode ?? 0
        if (status < 200 || status > 599) return fail(new Error(`${url.origin} answered with status ${status}`))
        const empty = status === 204 || status === 205 || status === 304
        const list = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value) => [name, value] as [string, string]),
        )
        done(new Response(empty ? null : Buffer.concat(chunks), { status, headers: list }))
      })
    })
    outgoing.end(body)
  })
}
