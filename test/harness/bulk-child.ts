/** Runs the node of bulk-node.ts in a process that a test can kill. Sends `ready` after the start, and `page` for each page of items. */
import { bulkNode } from './bulk-node.ts'

const node = await bulkNode(JSON.parse(process.argv[2]!), {
  before: async () => void process.send?.('page'),
})
process.on('disconnect', () => node.stop().then(() => process.exit()))
process.send!('ready')
