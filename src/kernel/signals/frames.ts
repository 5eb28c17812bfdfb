/**
 * Encodes messages as signed texts of limited length. A batch for one address becomes one body, which is split into frames. The receiver
 * checks the signature of each frame and joins the body again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Maximum size of a frame, because NOTIFY accepts less than 8,000 bytes. */
const frameBytes = 7900
/**
 * Maximum number of remembered senders. If there are more, the sender that has sent nothing for the longest time is dropped, with its
 * incomplete body.
 */
const sendersMax = 1000

export interface Message {
  topic: string
  /** The payload as JSON. */
  payload: string
}

export interface Received {
  topic: string
  payload: unknown
}

/** Escapes all characters beyond ASCII, so that each character is one byte and the text can be split anywhere. */
const toAscii = (text: string) =>
  text.replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const macOf = (key: Buffer, address: string, text: string) =>
  createHmac('sha256', key).update(`${address}\n${text}`).digest().subarray(0, 16)

/** Returns the frames of a batch. `number` grows with every call of a node, so that the receiver can ignore repeated frames. */
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

/** Returns whether this node sent the frame. The signature is not checked, because a node ignores its own frames. */
export const isFrom = (frame: string, nodeId: string) => frame.startsWith(`${nodeId} `, 23)

/** Opens a frame. Returns undefined if the frame was not signed with this key for this address. */
export function openFrame(key: Buffer, address: string, frame: string): Frame | undefined {
  const text = frame.slice(23)
  const mac = Buffer.from(frame.slice(0, 22), 'base64url')
  if (mac.length !== 16 || !timingSafeEqual(mac, macOf(key, address, text))) return undefined
  const [from, number, part, parts] = text.split(' ', 4)
  const content = text.slice(`${from} ${number} ${part} ${parts} `.length)
  return { from: from!, number: Number(number), part: Number(part), parts: Number(parts), content }
}

/** Joins frames to bodies. Frames of a node arrive in the order of sending. */
export function createAssembler() {
  const senders = new Map<string, { number: number; contents: string[]; complete: boolean }>()
  return {
    /** Returns the messages if the frame completes a body. A repeated frame is ignored. */
    add(address: string, { from, number, part, parts, content }: Frame): Received[] | undefined {
      const key = `${address} ${from}`
      let sender = senders.get(key)
      if (sender && number < sender.number) return undefined
      if (sender?.number !== number) {
        // The sender moves to the end, so that the first entry is the sender that has sent nothing for the longest time.
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
