/** A bare HTTP server of Node.js. It never answers POST, so that the memory of waiting requests can be measured. Prints its port. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const held: ServerResponse[] = []
const server = createServer((request, response) => {
  if (request.method === 'POST') held.push(response)
  else response.setHeader('content-length', 2).end('ok')
})
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
