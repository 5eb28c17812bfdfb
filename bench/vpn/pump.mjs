/**
 * `pump.mjs sink <port>` counts the bytes of each connection. `pump.mjs flood <host> <port> <ms>` sends bytes to such a sink for the given
 * number of milliseconds, and prints the number of bytes that arrived and the duration.
 */
import { connect, createServer } from 'node:net'

const [role, ...args] = process.argv.slice(2)

function sink([port]) {
  createServer({ allowHalfOpen: true }, (socket) => {
    let bytes = 0
    socket.on('error', () => {})
    socket.on('data', (part) => (bytes += part.length))
    socket.on('end', () => socket.end(String(bytes)))
  }).listen(Number(port), '0.0.0.0', () => console.log('ready'))
}

function flood([host, port, ms]) {
  const part = Buffer.alloc(65_536, 'waypost')
  const socket = connect({ host, port: Number(port) })
  let answer = ''
  let started = 0
  const write = () => {
    while (performance.now() - started < Number(ms)) if (!socket.write(part)) return
    socket.end()
  }
  socket.on('connect', () => {
    started = performance.now()
    socket.on('drain', write)
    write()
  })
  socket.on('data', (text) => (answer += text))
  socket.on('end', () => console.log(JSON.stringify({ bytes: Number(answer), ms: performance.now() - started })))
}

if (role === 'sink') sink(args)
else flood(args)
