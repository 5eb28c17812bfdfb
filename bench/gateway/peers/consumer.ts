/** MQTT client that receives every message at Mosquitto and publishes the response, because Mosquitto cannot respond by itself. */
import net from 'node:net'
import { connect, publish, subscribe } from '../packets.ts'

const [port] = process.argv.slice(2)
const socket = net.connect({ host: '127.0.0.1', port: Number(port), noDelay: true })
socket.write(connect('consumer'))
// `+` matches the version, the token and the request id. Topics of responses are longer and do not match.
socket.write(subscribe('kp1/+/dcx/+/json/+'))

const emptyBuffer = Buffer.alloc(0)
let rest = emptyBuffer
let id = 0
socket.on('data', (chunk) => {
  const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
  const out: Buffer[] = []
  let offset = 0
  while (bytes.length - offset >= 2) {
    let size = bytes[offset + 1]!
    let head = 2
    if (size > 127) {
      if (bytes.length - offset < 3) break
      size = (size & 127) | (bytes[offset + 2]! << 7)
      head = 3
    }
    const next = offset + head + size
    if (next > bytes.length) break
    const type = bytes[offset]! >> 4
    if (type === 9) process.send!({ done: null })
    if (type === 3) {
      const length = bytes.readUInt16BE(offset + head)
      const end = offset + head + 2 + length
      const topic = bytes.toString('latin1', offset + head + 2, end)
      out.push(Buffer.from([0x40, 2, bytes[end]!, bytes[end + 1]!]))
      id = (id % 65_535) + 1
      out.push(publish(`${topic}/status`, id, emptyBuffer))
    }
    offset = next
  }
  rest = bytes.subarray(offset)
  if (out.length > 0) socket.write(Buffer.concat(out))
})
process.on('disconnect', () => process.exit())
