/** The upper limit: one read and one write for the bytes that arrive, and nothing else. */
import { serve } from './serve.ts'

serve((socket) => {
  socket.on('data', (bytes) => void socket.write(bytes))
  socket.on('error', () => socket.destroy())
})
