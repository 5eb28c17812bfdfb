/** Runs Aedes with its in-memory persistence. This server sends the response directly to the client, which needs no subscription. */
import { Aedes } from 'aedes'
import { serve } from './serve.ts'

const broker = await Aedes.createBroker()
broker.on('publish', (packet, client) => {
  if (!client) return
  const answer = {
    cmd: 'publish',
    topic: `${packet.topic}/status`,
    payload: '',
    qos: 1,
    retain: false,
    dup: false,
  } as const
  client.publish(answer, () => {})
})
serve((socket) => {
  socket.on('error', () => socket.destroy())
  broker.handle(socket)
})
