/** Misbehaves in a process of its own, each kind in turn: `mqtt-abuse-process.ts <port> [topic]`, from a word to a word. */
import { abusiveClients, destroyAll } from './mqtt-abusive-clients.ts'

/** Paced: how many connections a machine can make is not what is asked. */
const everyMs = 100
const [, , port, topic] = process.argv
const kinds = Object.values(abusiveClients)
let count = 0
let timer: NodeJS.Timeout | undefined

function makeOne() {
  kinds[count++ % kinds.length]!({
    port: Number(port),
    name: (label) => `${label}${count}`,
    ...(topic && { topic }),
  })
}

process.on('message', (word) => {
  clearInterval(timer)
  if (word === 'begin') timer = setInterval(makeOne, everyMs)
  else destroyAll()
})
process.on('disconnect', () => process.exit())
