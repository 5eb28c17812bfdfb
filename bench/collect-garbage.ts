/** Node.js loads this module before the platform (`--import`). SIGUSR2 then starts a garbage collection, so that memory can be compared. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
// This collection also returns free pages to the operating system. After an ordinary collection, the number of pages that V8 keeps depends
// on earlier work.
process.on('SIGUSR2', () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
