/**
 * A proxy that injects the faults of a bad network: delays, broken connections, 429, 503, and responses that are lost after the platform
 * has applied a write.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { seededRandom } from './seeded-random.ts'

/**
 * `cut` breaks the connection: before the platform gets the request, after it has processed the request, or in the middle of its response.
 * `503 after` replaces the response of a processed request. `silence` processes the request and sends no response.
 */
export type Fault = 'delay' | 'cut before' | 'cut after' | 'cut in answer' | '429' | '503' | '503 after' | 'silence'
export const faults: Fault[] = [
  'delay',
  'cut before',
  'cut after',
  'cut in answer',
  '429',
  '503',
  '503 after',
  'silence',
]

export interface HostileProxy {
  url: string
  /** Number of times that each fault was injected. */
  counts: Record<string, number>
  close(): void
}

/** Starts a proxy to an address. For each request, it injects a fault with the probability `share`. */
export async function openHostileProxy(target: string, seed: number, share = 0.4): Promise<HostileProxy> {
  const random = seededRandom(seed)
  const counts: Record<string, number> = {}
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const fault = random() < share ? faults[Math.floor(random() * faults.length)] : undefined
    if (fault) counts[fault] = (counts[fault] ?? 0) + 1
    await answerWith(fault, target, incoming, Buffer.concat(chunks), response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    counts,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answerWith(
  fault: Fault | undefined,
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
) {
  if (fault === 'cut before') return incoming.socket.destroy()
  if (fault === '429' || fault === '503') return response.writeHead(Number(fault), { 'retry-after': '0' }).end()
  if (fault === 'delay') await new Promise((done) => setTimeout(done, 30))
  const answer = await forward(target, incoming, body)
  if (fault === 'silence') return
  if (fault === 'cut after') return incoming.socket.destroy()
  if (fault === '503 after') return response.writeHead(503, { 'retry-after': '0' }).end()
  const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers
  response.writeHead(answer.status, { ...headers, 'content-length': answer.body.length })
  if (fault !== 'cut in answer' || answer.body.length < 2) return response.end(answer.body)
  response.write(answer.body.subarray(0, answer.body.length >> 1), () => incoming.socket.destroy())
}

const forward = (target: string, { method, url, headers }: IncomingMessage, body: Buffer) =>
  new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
    const { host: _, connection: __, 'transfer-encoding': ___, ...rest } = headers
    const outgoing = request(
      target + url,
      { method, headers: { ...rest, 'content-length': body.length } },
      async (answer) => {
        const chunks: Buffer[] = []
        for await (const chunk of answer) chunks.push(chunk)
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks) })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
