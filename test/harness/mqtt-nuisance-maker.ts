/** Misbehaves in a process of its own, each kind in turn: `mqtt-nuisance-maker.ts <port> [topic]`, from a word to a word. */
import { cutAll, nuisances } from './mqtt-nuisances.ts'

/** Paced: how many connections a machine can make is not what is asked. */
const everyMs = 100
const [, , port, topic] = process.argv
const kinds = Object.values(nuisances)
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
  else cutAll()
})
process.on('disconnect', () => process.exit())
