import { type AddressInfo, createServer } from 'node:net'

/** Returns a TCP port of the loopback address that is free at present, for servers that restart on the same port. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}
