/**
 * Opens one abusive connection after the other, of all kinds in rotation. The messages `begin` and `end` of the parent process start
 * and stop it.
 */
import { abusiveClients, destroyAll } from './mqtt-abusive-clients.ts'

/** Milliseconds between two connections. Without this pause, the test would measure how many connections the machine can open. */
const everyMs = 100
const [, , port, topic] = process.argv
const kinds = Object.values(abusiveClients)
let count = 0
let timer: NodeJS.Timeout | undefined

function openNext() {
  kinds[count++ % kinds.length]!({
    port: Number(port),
    name: (label) => `${label}${count}`,
    ...(topic && { topic }),
  })
}

process.on('message', (command) => {
  clearInterval(timer)
  if (command === 'begin') timer = setInterval(openNext, everyMs)
  else destroyAll()
})
process.on('disconnect', () => process.exit())
