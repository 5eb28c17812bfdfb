/** A minimal HTTP client, so that the server is measured and not the client. */
import { Agent, request } from 'node:http'

export interface HttpResult {
  ms: number
  bytes: number
  text: string
}

export interface HttpRequest {
  method?: 'GET' | 'POST'
  body?: string
  headers?: Record<string, string>
  /** If true, the text of the response is returned. Otherwise, only its bytes are counted. */
  withText?: boolean
}

const agent = new Agent({ keepAlive: true })

/** Sends a request; throws unless the status is 2xx. */
export function sendRequest(
  url: string,
  { method = 'GET', body, headers = {}, withText = false }: HttpRequest = {},
): Promise<HttpResult> {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const outgoing = request(url, { method, agent, headers }, (answer) => {
      const failed = answer.statusCode! < 200 || answer.statusCode! > 299
      const parts: Buffer[] = []
      let bytes = 0
      answer.on('data', (part: Buffer) => {
        bytes += part.length
        if (withText || failed) parts.push(part)
      })
      answer.on('end', () => {
        const ms = performance.now() - began
        const text = Buffer.concat(parts).toString()
        if (failed) reject(new Error(`${method} ${url.slice(0, 200)}: ${answer.statusCode} ${text.slice(0, 500)}`))
        else resolve({ ms, bytes, text })
      })
      answer.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
