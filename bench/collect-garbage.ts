/** The platform loads this module before it starts. SIGUSR2 then collects garbage, so that memory can be compared. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
// This collection also returns free pages to the operating system. How many pages V8 keeps otherwise depends on earlier work.
process.on('SIGUSR2', () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }))
