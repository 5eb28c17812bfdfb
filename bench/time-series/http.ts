/** HTTP as a client that wants the bytes and nothing else: what is measured is the server. */
import { Agent, request } from 'node:http'

export interface Taken {
  ms: number
  bytes: number
  text: string
}

export interface Asked {
  method?: 'GET' | 'POST'
  body?: string
  headers?: Record<string, string>
  /** The answer's text is wanted; otherwise its bytes are only counted. */
  whole?: boolean
}

const agent = new Agent({ keepAlive: true })

/** Anything but 2xx is an error. */
export function take(url: string, { method = 'GET', body, headers = {}, whole = false }: Asked = {}): Promise<Taken> {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const asked = request(url, { method, agent, headers }, (answer) => {
      const failed = answer.statusCode! < 200 || answer.statusCode! > 299
      const parts: Buffer[] = []
      let bytes = 0
      answer.on('data', (part: Buffer) => {
        bytes += part.length
        if (whole || failed) parts.push(part)
      })
      answer.on('end', () => {
        const ms = performance.now() - began
        const text = Buffer.concat(parts).toString()
        if (failed) reject(new Error(`${method} ${url.slice(0, 200)}: ${answer.statusCode} ${text.slice(0, 500)}`))
        else resolve({ ms, bytes, text })
      })
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
