/** Common part of all servers in the bench: listens, reports its port, collects garbage on request, and exits when its parent exits. */
import net from 'node:net'

/** Collects garbage. The function exists because the process runs with --expose-gc. */
const collect = (globalThis as { gc?: () => void }).gc

export function serve(accept: (socket: net.Socket) => void) {
  const server = net.createServer({ noDelay: true }, accept)
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
    answerRequests((server.address() as net.AddressInfo).port),
  )
}

export function answerRequests(port: number, stop: () => Promise<void> = async () => {}) {
  process.on('message', () => {
    collect?.()
    process.send!({ done: null })
  })
  process.on('disconnect', () => void stop().then(() => process.exit()))
  process.send!({ done: port })
}
