/**
 * A program in a network namespace. It answers on TCP and UDP ports, prints the data that arrives, and sends data when a line of its
 * standard input requests it. Each input line is a JSON object with an `id`. The output line with the result has the same `id`.
 */
import { createSocket } from 'node:dgram'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

const [name, ...ports] = process.argv.slice(2)
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

const listening = ports.map(Number).flatMap((port) => [
  new Promise((done) =>
    createServer((socket) => {
      socket.on('error', () => {})
      socket.end(name)
    }).listen(port, '0.0.0.0', done),
  ),
  new Promise((done) => {
    const socket = createSocket('udp4')
    socket.on('message', (text, from) => print({ received: String(text), from: from.address }))
    socket.bind(port, done)
  }),
])

const commands = {
  /** Connects and returns the data that the server sends, or the code of the error, or `timeout`. */
  connect: ({ to, port, ms }) =>
    new Promise((done) => {
      const socket = connect({ host: to, port })
      let text = ''
      const timer = setTimeout(() => finish('timeout'), ms)
      const finish = (result) => {
        clearTimeout(timer)
        socket.destroy()
        done(result)
      }
      socket.setEncoding('utf8').on('data', (part) => (text += part))
      socket.on('error', (error) => finish(error.code))
      socket.on('end', () => finish(text))
    }),
  /** Sends a datagram. `from` is its source address, if it is not the default address of this namespace. */
  send: ({ to, port, text, from }) =>
    new Promise((done) => {
      const socket = createSocket('udp4')
      const finish = (result) => {
        socket.close()
        done(result)
      }
      socket.on('error', (error) => finish(error.code))
      socket.bind({ address: from ?? '0.0.0.0' }, () =>
        socket.send(text, port, to, (error) => finish(error ? error.code : 'sent')),
      )
    }),
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, command, ...input } = JSON.parse(line)
  print({ id, result: await commands[command](input) })
})
process.stdin.on('end', () => process.exit(0))
await Promise.all(listening)
print({ ready: true })
