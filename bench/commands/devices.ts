/** MQTT devices that answer each command immediately, on sockets with TCP_NODELAY. */
import net from 'node:net'
import { versionName } from '../gateway/bench-platform.ts'
import { connect, publish } from '../gateway/packets.ts'

export interface AnsweringDevice {
  /** Sends a message that stores nothing, and resolves when its response arrives. */
  request(): Promise<void>
  close(): void
}

const publishType = 3
const packetIdMax = 60_000
const result = { statusCode: 200, payload: { done: true } }

/** A device message that stores nothing, and the prefix of its response topic. */
interface Request {
  extension: string
  path: string
  payload: unknown
  responsePath: string
}

const emptyResult: Request = { extension: 'cex', path: '/result/none/1', payload: [], responsePath: '/result/none/' }
const sample: Request = { extension: 'dcx', path: '/json/1', payload: { t: 1 }, responsePath: '/json/1/' }

/** Connects a device to a gateway without other services. An extension that does nothing handles the messages of the device. */
export const openBareDevice = (port: number, token: string) => open(port, token, sample)

export const openDevice = (mqttUrl: string, token: string) => open(Number(new URL(mqttUrl).port), token, emptyResult)

async function open(
  port: number,
  token: string,
  { extension, path: requestPath, payload: requestPayload, responsePath }: Request,
): Promise<AnsweringDevice> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  const topic = `kp1/${versionName}/${extension}/${token}`
  let packetId = 0
  let waiting: { resolve(): void; reject(error: Error): void } | undefined
  const message = (resource: string, payload: unknown) => {
    packetId = (packetId % packetIdMax) + 1
    return publish(`${topic}${resource}`, packetId, Buffer.from(JSON.stringify(payload)))
  }
  function receive(path: string, payload: Buffer): Buffer[] {
    if (path.startsWith(responsePath)) waiting?.resolve()
    if (!path.startsWith('/command/')) return []
    const type = path.split('/')[2]!
    const commands = JSON.parse(payload.toString()) as { id: number }[]
    return commands.map(({ id }) => message(`/result/${type}`, [{ id, ...result }]))
  }

  let rest = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    const packets = packetsOf(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]))
    rest = Buffer.from(packets.rest)
    const replies = packets.published.flatMap(({ name, id, payload }) => [
      ...(id ? [Buffer.from([0x40, 2, ...id])] : []),
      ...receive(name.slice(topic.length), payload),
    ])
    if (replies.length > 0) socket.write(Buffer.concat(replies))
  })
  const failed = (error = new Error('the connection of a device was closed')) => waiting?.reject(error)
  socket.on('error', failed).on('close', () => failed())

  const request = async () => {
    await new Promise<void>((resolve, reject) => {
      waiting = { resolve, reject }
      socket.write(message(requestPath, requestPayload))
    })
    waiting = undefined
  }
  socket.write(connect(`device-${token}`))
  await request()
  return { request, close: () => socket.destroy() }
}

interface Published {
  name: string
  /** The two bytes of the packet id; absent with QoS 0. */
  id?: Buffer
  payload: Buffer
}

function packetsOf(bytes: Buffer): { published: Published[]; rest: Buffer } {
  const published: Published[] = []
  let offset = 0
  for (;;) {
    let [length, shift, at] = [0, 0, offset + 1]
    for (let byte = 128; byte & 128 && at < bytes.length; at++, shift += 7) {
      byte = bytes[at]!
      length |= (byte & 127) << shift
    }
    const isLengthComplete = at > offset + 1 && (bytes[at - 1]! & 128) === 0
    if (!isLengthComplete || at + length > bytes.length) return { published, rest: bytes.subarray(offset) }
    const first = bytes[offset]!
    if (first >> 4 === publishType) published.push(publishOf(bytes.subarray(at, at + length), (first & 6) !== 0))
    offset = at + length
  }
}

function publishOf(body: Buffer, hasId: boolean): Published {
  const end = 2 + body.readUInt16BE(0)
  const name = body.toString('utf8', 2, end)
  return hasId
    ? { name, id: body.subarray(end, end + 2), payload: body.subarray(end + 2) }
    : { name, payload: body.subarray(end) }
}
