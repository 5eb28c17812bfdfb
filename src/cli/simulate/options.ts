import { parseArgs } from 'node:util'

export interface SimulateOptions {
  devices: number
  rate: number
  application: string
  url: URL | undefined
  reconnectEverySeconds: number
  /** Percentage of commands and software updates that fail. */
  failPercent: number
  /** Average time that a command or a software update takes. */
  slowSeconds: number
  /** Software version that devices report when they start. Undefined if they report none. */
  software: string | undefined
  /** Duration of the simulation. Undefined if it runs until a signal arrives. */
  seconds: number | undefined
}

export const usage = `usage: waypost simulate [--devices 10] [options]

  --devices <n>           number of devices, 1 to 10000; default 10
  --rate <n>              messages per second of each device, 0.001 to 100; default 0.2
  --application <name>    application of their endpoints, created if missing; default simulator
  --url <address>         mqtt://[user:password@]host[:port] or mqtts://…; default: the address in bootstrap.json
  --reconnect-every <s>   average seconds between reconnections of a device; default 300, 0 for none
  --fail <percent>        share of commands and software updates that fail, 0 to 100; default 0
  --slow <s>              average seconds until a device answers a command or has installed software; default 0
  --software <version>    software version that the devices report first, created if missing; default: none
  --seconds <s>           stop after this time; default: run until Ctrl-C

Devices send temperature, humidity, battery and location, answer commands (a "reboot" makes them reconnect), apply
configurations ({"reportEverySeconds": 1} changes their interval), and download and install the software that they are
offered. The devices use the credentials of bootstrap.json in the data directory (WAYPOST_DATA).
`

/** The error for a mistake in the options. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

export function readOptions(args: string[]): SimulateOptions {
  const { values } = parseArgs({
    args,
    options: {
      devices: { type: 'string', default: '10' },
      rate: { type: 'string', default: '0.2' },
      application: { type: 'string', default: 'simulator' },
      url: { type: 'string' },
      'reconnect-every': { type: 'string', default: '300' },
      fail: { type: 'string', default: '0' },
      slow: { type: 'string', default: '0' },
      software: { type: 'string' },
      seconds: { type: 'string' },
    },
  })
  const devices = readNumber('devices', values.devices, 1, 10_000)
  if (!Number.isInteger(devices)) throw new OptionError('--devices: expected a whole number')
  if (!/^[a-z0-9][a-z0-9_-]{0,100}$/i.test(values.application))
    throw new OptionError('--application: expected letters, digits, - and _')
  if (values.software !== undefined && !/^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,100}$/.test(values.software))
    throw new OptionError('--software: expected a version such as 1.0.0')
  return {
    devices,
    rate: readNumber('rate', values.rate, 0.001, 100),
    application: values.application,
    url: values.url === undefined ? undefined : readAddress(values.url),
    reconnectEverySeconds: readNumber('reconnect-every', values['reconnect-every'], 0, 1e6),
    failPercent: readNumber('fail', values.fail, 0, 100),
    slowSeconds: readNumber('slow', values.slow, 0, 86_400),
    software: values.software,
    seconds: values.seconds === undefined ? undefined : readNumber('seconds', values.seconds, 0.1, 1e6),
  }
}

function readNumber(option: string, text: string, min: number, max: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw new OptionError(`--${option}: expected a number from ${min} to ${max}`)
  return value
}

function readAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['mqtt:', 'mqtts:'].includes(url.protocol) || url.hostname === '')
    throw new OptionError('--url: expected mqtt://host:port or mqtts://host:port')
  return url
}
