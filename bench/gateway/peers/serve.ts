/** What every small server of the bench does: listen, tell its port, collect garbage when asked. */
import net from 'node:net'

/** Runs with --expose-gc. */
const collect = (globalThis as { gc?: () => void }).gc

export function serve(accept: (socket: net.Socket) => void) {
  const server = net.createServer({ noDelay: true }, accept)
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
    process.send!({ done: (server.address() as net.AddressInfo).port }),
  )
  process.on('message', () => {
    collect?.()
    process.send!({ done: null })
  })
  process.on('disconnect', () => process.exit())
}
