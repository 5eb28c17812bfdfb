/**
 * Measures two nodes: pushes from one node to devices at the other node, and the signals that devices cause when they connect and
 * disconnect. The sender of a push waits for its outcome.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Figure } from '../report.ts'
import { type PreparedData, versionName, withoutLimits } from './bench-platform.ts'
import { exited } from './servers.ts'

const order = { atOnce: 512, seconds: 5 }
const devices = 100

interface Done {
  perSecond: number
  sent: number
  received: number
  firstSignals: number
  signals: number
}

export async function pushes({ directory, tokens }: PreparedData): Promise<Figure[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'peers/pushes.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...process.env,
      ...withoutLimits,
      WAYPOST_DATA: directory,
      WAYPOST_MQTT_PORT: '0',
      WAYPOST_MQTTS_PORT: '0',
      WAYPOST_LOG_LEVEL: 'warn',
    },
  })
  try {
    const { perSecond, sent, received, firstSignals, signals } = await new Promise<Done>((resolve, reject) => {
      child.once('message', ({ done }: { done: Done }) => resolve(done))
      child.once('exit', (code) => reject(new Error(`the nodes ended with ${code}`)))
      child.send({ ...order, devices: tokens.slice(0, devices), visitors: tokens.slice(devices), versionName })
    })
    if (received < sent) throw new Error(`${sent - received} of ${sent} pushes did not arrive`)
    console.error(`${Math.round(perSecond)} pushes a second from one node to devices at another node`)
    // The limit is ten times the rate of an earlier version, which reached 255 per second with one transaction per message.
    return [
      { name: 'Pushes from one node to devices at another', value: perSecond, unit: '/s', limit: { min: 2550 } },
      {
        name: `Signals to another node while ${tokens.length - devices} devices connect and leave`,
        value: signals,
        unit: 'signals',
        limit: { max: 50 },
      },
      { name: 'The same for devices that are new', value: firstSignals, unit: 'signals' },
    ]
  } finally {
    if (child.connected) child.disconnect()
    await exited(child)
  }
}
