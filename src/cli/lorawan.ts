import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../kernel/clock.ts'
import { createCodecs } from '../services/lorawan/contract.ts'
import { print } from './output.ts'

export const usage = `usage: waypost lorawan <action> <codec>

  decode <codec> --bytes <hex> [--port 1] [--time <ISO 8601>]   run decodeUplink of a payload formatter and print its data
  encode <codec> --data <JSON> [--port 1]                       run encodeDownlink and print bytes and port
`

const fail = (problem: string) => {
  process.stderr.write(`waypost: ${problem}\n`)
  return 1
}

/** Runs a payload formatter in the same way as the platform, but without a platform. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      bytes: { type: 'string' },
      port: { type: 'string', default: '1' },
      time: { type: 'string' },
      data: { type: 'string' },
    },
  })
  const [action, file, ...rest] = positionals
  const needed = action === 'decode' ? values.bytes : action === 'encode' ? values.data : undefined
  if (needed === undefined || file === undefined || rest.length > 0) {
    process.stderr.write(usage)
    return 2
  }
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 255) return fail('--port: expected a number from 0 to 255')
  const recvTime = values.time === undefined ? systemClock() : new Date(values.time)
  if (Number.isNaN(recvTime.getTime())) return fail('--time: expected an ISO 8601 date and time')
  let formatter: string
  try {
    formatter = readFileSync(file, 'utf8')
  } catch (error) {
    return fail(`${file} cannot be read: ${(error as Error).message}`)
  }
  const codecs = createCodecs(() => {})
  try {
    const functions = await codecs.inspect('default', formatter)
    if ('error' in functions) return fail(`${file}: ${functions.error}`)
    if (action === 'decode') {
      const hex = needed.replace(/[\s:-]|^0x/g, '')
      if (!/^([0-9a-f]{2})*$/i.test(hex)) return fail('--bytes: expected hexadecimal digits, two for each byte')
      const bytes = Buffer.from(hex, 'hex')
      const decoded = await codecs.decode({ tenantId: 'default', formatter, bytes, fPort: port, recvTime })
      if ('error' in decoded) return fail(decoded.error)
      print(JSON.stringify(decoded.data, null, 2))
      return 0
    }
    let data: unknown
    try {
      data = JSON.parse(needed)
    } catch {
      return fail('--data: expected JSON')
    }
    const encoded = await codecs.encode({ tenantId: 'default', formatter, data, fPort: port })
    if ('error' in encoded) return fail(encoded.error)
    print(`${encoded.bytes.toString('hex')} on port ${encoded.fPort ?? port}`)
    return 0
  } finally {
    await codecs.stop()
  }
}
