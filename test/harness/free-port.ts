import { type AddressInfo, createServer } from 'node:net'

/** Returns a TCP port of the loopback address that is free now, for servers that restart at the same address. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}
