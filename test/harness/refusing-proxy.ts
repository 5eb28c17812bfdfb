/** A proxy for browsers that refuses and records every request, so that a test fails if a page requests anything from another host. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAllTests } from './database.ts'

/**
 * Hosts that Chromium itself asks about updates, accounts, passwords and forms. Flags turn off only some of these requests. No page loads
 * anything from these hosts.
 */
const hostsOfBrowser = new Set([
  'accounts.google.com',
  'android.clients.google.com',
  'clients2.google.com',
  'content-autofill.googleapis.com',
  'mtalk.google.com',
  'optimizationguide-pa.googleapis.com',
  'passwordsleakcheck-pa.googleapis.com',
  'redirector.gvt1.com',
  'safebrowsing.googleapis.com',
  'update.googleapis.com',
])

const refused: string[] = []

function record(method: string, address: string) {
  const { hostname } = new URL(method === 'CONNECT' ? `https://${address}` : address)
  if (!hostsOfBrowser.has(hostname)) refused.push(`${method} ${address}`)
}

/** Returns the requests that were refused since the last call: `GET http://example.com/`, `CONNECT example.com:443`. */
export const takeRefused = (): string[] => refused.splice(0)

/** Starts the proxy, and returns its address. Browsers do not use a proxy for addresses of the same machine. */
export async function startRefusingProxy(): Promise<string> {
  const proxy = createServer(({ method = '', url = '' }, response) => {
    record(method, url)
    response.writeHead(403).end()
  })
  proxy.on('connect', ({ url = '' }, socket) => {
    record('CONNECT', url)
    socket.on('error', () => {}) // the browser may close the connection first
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  afterAllTests(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
