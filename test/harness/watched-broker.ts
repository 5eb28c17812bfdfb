/**
 * Runs the broker of open-broker.ts in a separate process. It responds to each message of the parent process with the longest stall of its
 * event loop since the previous message.
 */
import { startOpenBroker } from './open-broker.ts'
import { watchStalls } from './thread-time.ts'

const { port } = await startOpenBroker()
const stalls = watchStalls()
process.on('message', () => process.send!(stalls.longestMs()))
process.on('disconnect', () => process.exit())
process.send!(port)
