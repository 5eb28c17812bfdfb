/** Builds MQTT 3.1.1 packets in advance. */

const text = (value: string) => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

function packet(first: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  for (let left = body.length; left > 0 || length.length === 0; left >>= 7)
    length.push((left & 127) | (left > 127 ? 128 : 0))
  return Buffer.concat([Buffer.from([first, ...length]), body])
}

const number = (value: number) => Buffer.from([value >> 8, value & 255])

const keepAliveSeconds = 900

/** Builds a CONNECT packet with a clean session and without a user name. */
export const connect = (clientId: string) =>
  packet(0x10, text('MQTT'), Buffer.from([4, 2]), number(keepAliveSeconds), text(clientId))

export const subscribe = (filter: string) => packet(0x82, number(1), text(filter), Buffer.from([1]))

/** Builds a PUBLISH packet with QoS 1. */
export const publish = (topic: string, id: number, payload: Buffer) => packet(0x32, text(topic), number(id), payload)
