/** HTTPS client for tests, which trusts the given certificate only. */
import { request } from 'node:https'

export interface SecureAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

export const overHttps = (
  url: string,
  { ca, method = 'GET', body, headers = {} }: { ca: string; method?: string; body?: string; headers?: object },
) =>
  new Promise<SecureAnswer>((resolve, reject) => {
    const sent = request(url, { ca, method, headers: { ...headers }, agent: false }, (response) => {
      let text = ''
      response.on('data', (part) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
