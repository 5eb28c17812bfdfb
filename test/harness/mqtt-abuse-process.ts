/** Opens abusive connections of all kinds in rotation, between the messages `begin` and `end`: `mqtt-abuse-process.ts <port> [topic]`. */
import { abusiveClients, destroyAll } from './mqtt-abusive-clients.ts'

/** Limits the rate, because the test does not measure how many connections the machine can open. */
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
