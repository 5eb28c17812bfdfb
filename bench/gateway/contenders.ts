/** Everybody who is measured, from the limit down to what others made. */
import { type Server, startMosquitto, startPeer } from './servers.ts'

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
