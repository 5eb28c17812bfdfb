import { bulkNode } from './bulk-node.ts'

const node = await bulkNode(JSON.parse(process.argv[2]!), {
  before: async () => void process.send?.('page'),
})
process.on('disconnect', () => node.stop().then(() => process.exit()))
process.send!('ready')
