/** Everybody who is measured, from the limit down to what others made. */
import { type Server, startMosquitto, startPeer } from './servers.ts'
import { type Ground, startSite, versionName, withoutLimits } from './site.ts'

export interface Contender {
  name: string
  start(): Promise<Server>
}

const peer = (name: string, file: string, expecting: Server['expecting']): Contender => ({
  name,
  start: () => startPeer(name, file, expecting),
})

export const echo = peer('node:net echo', 'echo.ts', 'echo')
export const sessionLayer = peer('Session layer', 'sessions.ts', 'answered')
export const aedes = peer('Aedes 1.2', 'aedes.ts', 'answered')
export const mosquitto: Contender = { name: 'Mosquitto with a Node.js consumer', start: startMosquitto }

/** Publish → dispatch → an extension that does nothing → PUBACK and the answer; no database on the way. */
export const gatewayCore = (ground: Ground): Contender => ({
  name: 'Gateway',
  start: () => startCore(ground, 'answered'),
})

/** `limits`: with those that a platform has unless told otherwise. */
export async function startCore(
  { directory, tokens }: Ground,
  expecting: Server['expecting'],
  core?: number | 'any',
  limits = false,
) {
  const environment = { ...onAnyPort, ...(limits ? {} : withoutLimits), WAYPOST_DATA: directory }
  return { ...(await startPeer('Gateway', 'core.ts', expecting, environment, core)), versionName, tokens }
}

/** With the traffic log, as it is used. */
export const wholePlatform = (ground: Ground): Contender => ({
  name: 'Platform',
  start: () => startSite('Platform', ground),
})

const onAnyPort = { WAYPOST_MQTT_PORT: '0', WAYPOST_MQTTS_PORT: '0', WAYPOST_LOG_LEVEL: 'warn' }
