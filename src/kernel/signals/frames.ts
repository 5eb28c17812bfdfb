/**
 * Signed texts of bounded length for a transport. A batch of messages for one address becomes one body, which is cut into as many
 * frames as it needs; the receiver checks each frame and puts the body together again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** NOTIFY takes less than 8,000 bytes. */
const frameBytes = 7900
/** Senders whose half-received bodies are kept; a body that is never completed is dropped with its sender. */
const sendersMax = 1000

export interface Message {
  topic: string
  /** JSON. */
  payload: string
}

export interface Received {
  topic: string
  payload: unknown
}

/** Plain ASCII, so that it may be cut anywhere and a character is a byte. */
const toAscii = (text: string) =>
  text.replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const macOf = (key: Buffer, address: string, text: string) =>
  createHmac('sha256', key).update(`${address}\n${text}`).digest().subarray(0, 16)

/** `number` grows with every call of a node: the receiver drops what it has seen. */
export function framesOf(key: Buffer, from: string, number: number, address: string, messages: Message[]): string[] {
  const body = toAscii(`[${messages.map(({ topic, payload }) => `[${JSON.stringify(topic)},${payload}]`).join(',')}]`)
  const head = (part: number, parts: number) => `${from} ${number} ${part} ${parts} `
  const room = frameBytes - 23 - head(body.length, body.length).length
  const parts = Math.ceil(body.length / room)
  return Array.from({ length: parts }, (_, part) => {
    const text = `${head(part, parts)}${body.slice(part * room, (part + 1) * room)}`
    return `${macOf(key, address, text).toString('base64url')} ${text}`
  })
}

export interface Frame {
  from: string
  number: number
  part: number
  parts: number
  content: string
}

/** Undefined where the frame was not made with this key for this address. */
export function openFrame(key: Buffer, address: string, frame: string): Frame | undefined {
  const text = frame.slice(23)
  const mac = Buffer.from(frame.slice(0, 22), 'base64url')
  if (mac.length !== 16 || !timingSafeEqual(mac, macOf(key, address, text))) return undefined
  const [from, number, part, parts] = text.split(' ', 4)
  const content = text.slice(`${from} ${number} ${part} ${parts} `.length)
  return { from: from!, number: Number(number), part: Number(part), parts: Number(parts), content }
}

/** Puts bodies together; frames of a node arrive in the order of sending. */
export function createAssembler() {
  const senders = new Map<string, { number: number; contents: string[]; complete: boolean }>()
  return {
    /** The messages when the frame completes a body; a repeated frame is ignored. */
    add(address: string, { from, number, part, parts, content }: Frame): Received[] | undefined {
      const key = `${address} ${from}`
      let sender = senders.get(key)
      if (sender && number < sender.number) return undefined
      if (sender?.number !== number) {
        // A sender that is heard moves to the end: the first entry is the one that was silent longest.
        senders.delete(key)
        if (senders.size >= sendersMax) senders.delete(senders.keys().next().value!)
        sender = { number, contents: [], complete: false }
        senders.set(key, sender)
      }
      if (sender.complete || part !== sender.contents.length) return undefined
      sender.contents.push(content)
      if (sender.contents.length < parts) return undefined
      const text = sender.contents.join('')
      Object.assign(sender, { contents: [], complete: true })
      return (JSON.parse(text) as [string, unknown][]).map(([topic, payload]) => ({ topic, payload }))
    },
  }
}
