/** A minimal HTTP client, so that the server is measured and not the client. */
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
  /** Returns the text of the response; otherwise its bytes are only counted. */
  whole?: boolean
}

const agent = new Agent({ keepAlive: true })

/** Sends a request; throws unless the status is 2xx. */
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
