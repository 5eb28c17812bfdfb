/** Everybody who is measured, from the limit down to what others made. */
import { type Server, startMosquitto, startPeer } from './servers.ts'
import { type Ground, startSite, versionName, withoutLimits } from './site.ts'

export interface Contender {
  name: string
  start(environment?: Record<string, string>): Promise<Server>
}

const peer = (name: string, file: string, expecting: Server['expecting']): Contender => ({
  name,
  start: (environment) => startPeer(name, file, expecting, environment),
})

export const echo = peer('node:net echo', 'echo.ts', 'echo')
export const sessionLayer = peer('Session layer', 'sessions.ts', 'answered')
export const aedes = peer('Aedes 1.2', 'aedes.ts', 'answered')
export const mosquitto: Contender = { name: 'Mosquitto with a Node.js consumer', start: startMosquitto }

/** Publish → dispatch → an extension that does nothing → PUBACK and the answer; no database on the way. */
export const gatewayCore = (ground: Ground): Contender => ({
  name: 'Gateway',
  start: (environment) => startCore(ground, 'answered', { environment }),
})

interface CoreOptions {
  core?: number | 'any'
  /** With those that a platform has unless told otherwise. */
  limits?: boolean
  environment?: Record<string, string> | undefined
}

export async function startCore(
  { directory, tokens }: Ground,
  expecting: Server['expecting'],
  { core, limits = false, environment }: CoreOptions = {},
) {
  const settings = { ...onAnyPort, ...(limits ? {} : withoutLimits), WAYPOST_DATA: directory, ...environment }
  return { ...(await startPeer('Gateway', 'core.ts', expecting, settings, core)), versionName, tokens }
}

/** With the traffic log, as it is used. */
export const wholePlatform = (ground: Ground): Contender => ({
  name: 'Platform',
  start: (environment) => startSite('Platform', ground, environment),
})

const onAnyPort = { WAYPOST_MQTT_PORT: '0', WAYPOST_MQTTS_PORT: '0', WAYPOST_LOG_LEVEL: 'warn' }
