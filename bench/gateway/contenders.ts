/** The servers that are compared: an echo server as the upper limit, the layers of the platform, and other brokers. */

import { type PreparedData, startBenchPlatform, versionName, withoutLimits } from './bench-platform.ts'
import { type Server, startMosquitto, startPeer } from './servers.ts'

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

/** The gateway without database access: PUBLISH, dispatch, an extension that does nothing, PUBACK and the response. */
export const gatewayCore = (prepared: PreparedData): Contender => ({
  name: 'Gateway',
  start: (environment) => startCore(prepared, 'answered', { environment }),
})

interface CoreOptions {
  core?: number | 'any'
  /** If true, the platform has its default limits. */
  limits?: boolean
  environment?: Record<string, string> | undefined
}

export async function startCore(
  { directory, tokens }: PreparedData,
  expecting: Server['expecting'],
  { core, limits = false, environment }: CoreOptions = {},
) {
  const settings = { ...anyPort, ...(limits ? {} : withoutLimits), WAYPOST_DATA: directory, ...environment }
  return { ...(await startPeer('Gateway', 'core.ts', expecting, settings, core)), versionName, tokens }
}

/** The whole platform, including the traffic log. */
export const wholePlatform = (prepared: PreparedData): Contender => ({
  name: 'Platform',
  start: (environment) => startBenchPlatform('Platform', prepared, environment),
})

const anyPort = { WAYPOST_MQTT_PORT: '0', WAYPOST_MQTTS_PORT: '0', WAYPOST_LOG_LEVEL: 'warn' }
