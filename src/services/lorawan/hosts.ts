/** Parses the addresses of networks that users enter (document 5, 9.1). All functions are pure. */
import { addressProblem } from '../../kernel/safe-fetch.ts'

export interface MqttAddress {
  host: string
  port: number
  isTls: boolean
}

interface Allowed {
  allowPrivate: boolean
}

type Result<T> = T | { problem: string }

const hostExpected = 'expected host, host:port or a URL without a path'

/** Returns the origin of an HTTP host: `https://host[:port]`, in canonical form. */
export function parseHost(text: string, { allowPrivate }: Allowed): Result<{ origin: string }> {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const url = parseUrl(hasScheme ? text : `https://${text}`)
  if (!url || !isOnlyOrigin(url)) return { problem: hostExpected }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { problem: hostExpected }
  const problem = addressProblem(url.href, { allowPrivate })
  return problem ? { problem } : { origin: url.origin }
}

const mqttSchemes: Record<string, { isTls: boolean; port: number }> = {
  'mqtt:': { isTls: false, port: 1883 },
  'tcp:': { isTls: false, port: 1883 },
  'mqtts:': { isTls: true, port: 8883 },
  'ssl:': { isTls: true, port: 8883 },
}
const mqttExpected = 'expected mqtt://host[:port], mqtts://host[:port], tcp://…, ssl://… or host:port'

/** Parses the address of an MQTT server. Without a scheme, the port decides: 8883 means TLS. */
export function parseMqttUrl(text: string, { allowPrivate }: Allowed): Result<MqttAddress> {
  const [, scheme, rest = text] = text.match(/^([a-z][a-z0-9+.-]*:)\/\/(.*)$/is) ?? []
  // The rest is parsed as an https address, because URL checks host names and addresses only for web schemes.
  const url = parseUrl(`https://${rest}`)
  if (!url || !isOnlyOrigin(url)) return { problem: mqttExpected }
  const givenPort = /:(\d+)\/?$/.exec(rest)?.[1]
  const known = scheme === undefined ? undefined : mqttSchemes[scheme.toLowerCase()]
  if (scheme !== undefined && !known) return { problem: mqttExpected }
  if (scheme === undefined && givenPort === undefined) return { problem: mqttExpected }
  const problem = addressProblem(url.href, { allowPrivate })
  if (problem) return { problem }
  const port = givenPort === undefined ? known!.port : Number(givenPort)
  if (port === 0) return { problem: mqttExpected }
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, isTls: known?.isTls ?? port === 8883 }
}

function parseUrl(text: string): URL | undefined {
  // URL would remove tabs and line breaks, and treat a backslash as a slash.
  if (/[\s\\]/.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

const isOnlyOrigin = ({ pathname, search, hash, username, password, hostname, href }: URL) =>
  pathname === '/' &&
  search === '' &&
  hash === '' &&
  username === '' &&
  password === '' &&
  hostname !== '' &&
  !/[?#]$/.test(href)
