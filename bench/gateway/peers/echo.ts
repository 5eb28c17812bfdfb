/** A server that sends back the bytes that it receives and does nothing else: the upper limit for the other servers. */
import { serve } from './serve.ts'

serve((socket) => {
  socket.on('data', (bytes) => void socket.write(bytes))
  socket.on('error', () => socket.destroy())
})
