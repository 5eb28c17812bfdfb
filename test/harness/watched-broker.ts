/** Broker of open-broker.ts in a process of its own. Each message of the parent is answered with the longest stall since the last one. */
import { startOpenBroker } from './open-broker.ts'
import { watchStalls } from './thread-time.ts'

const { port } = await startOpenBroker()
const stalls = watchStalls()
process.on('message', () => process.send!(stalls.longestMs()))
process.on('disconnect', () => process.exit())
process.send!(port)
