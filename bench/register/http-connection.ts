/** A minimal HTTP client on one keep-alive connection, so that the server is measured and not the client. */
import net from 'node:net'

export interface HttpConnection {
  /** Returns the text of the response. Throws if the response does not have the expected status. */
  ask(method: string, path: string, token: string, body?: unknown, expected?: number): Promise<string>
  /** Like `ask`, with a body that is JSON text already. If the text is empty, the request has no body. */
  send(method: string, path: string, token: string, content: string, expected?: number): Promise<string>
  close(): void
}

interface Waiting {
  resolve(answer: { status: number; text: string }): void
  reject(error: Error): void
}

export async function openHttpConnection(baseUrl: string): Promise<HttpConnection> {
  const { hostname, port, host } = new URL(baseUrl)
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let waiting: Waiting | undefined
  let parts: Buffer[] = []
  let [received, bodyBytes] = [0, -1]

  socket.on('data', (part: Buffer) => {
    parts.push(part)
    received += part.length
    if (bodyBytes < 0) bodyBytes = lengthOf(joined(parts))
    if (bodyBytes < 0 || received < bodyBytes) return
    const whole = joined(parts)
    ;[parts, received, bodyBytes] = [[], 0, -1]
    const status = Number(whole.subarray(9, 12).toString())
    waiting?.resolve({ status, text: whole.toString('utf8', whole.indexOf('\r\n\r\n') + 4) })
  })
  const failed = (error?: Error) => waiting?.reject(error ?? new Error('the connection was closed'))
  socket.on('error', failed).on('close', () => failed())

  async function send(method: string, path: string, token: string, content: string, expected = 200) {
    const type = content === '' ? '' : 'content-type: application/json\r\n'
    const length = `content-length: ${Buffer.byteLength(content)}\r\n`
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      waiting = { resolve, reject }
      socket.write(
        `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n${type}${length}\r\n${content}`,
      )
    })
    if (status !== expected) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`)
    return text
  }

  return {
    ask: (method, path, token, body, expected) =>
      send(method, path, token, body === undefined ? '' : JSON.stringify(body), expected),
    send,
    close: () => socket.destroy(),
  }
}

/** Most responses arrive in one part, which needs no copy. */
const joined = (parts: Buffer[]) => (parts.length === 1 ? parts[0]! : Buffer.concat(parts))

/** Returns the length of head and body; -1 while the head is incomplete. */
function lengthOf(received: Buffer): number {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return -1
  const text = received.toString('latin1', 0, end)
  if (text.startsWith('HTTP/1.1 204') || text.startsWith('HTTP/1.1 304')) return end + 4
  const length = /^content-length: (\d+)/im.exec(text)
  if (!length) throw new Error('a response has no content-length')
  return end + 4 + Number(length[1])
}
