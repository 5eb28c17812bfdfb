/** Builds the web console into the cache that all platforms of this repository use, unless the cache already has this build. */
import { createConsole } from '../src/assembly/console/console.ts'
import { createLog } from '../src/kernel/log.ts'

export async function buildConsole() {
  const log = await createLog({ level: 'error', format: 'pretty' })
  const built = createConsole({ directory: undefined, watch: false, fallbackDirectory: '', log })
  await built.prepare()
  const state = await built.state()
  if (state.kind !== 'ready') throw new Error(`the web console was not built: ${JSON.stringify(state)}`)
}
