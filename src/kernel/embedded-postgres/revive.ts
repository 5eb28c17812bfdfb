import { setTimeout as delay } from 'node:timers/promises'
import type { Server } from './server.ts'

const pauseMs = 500
const pauseMaxMs = 5000

/**
 * A server that is started again whenever it ends by itself: killed because memory was short, or because its log found no space.
 * Until then whoever asks it is refused, and nobody has to come and help.
 */
export async function revived(start: () => Promise<Server>, log: (line: string) => void): Promise<Server> {
  let server = await start()
  let stopping = false
  let reviving = Promise.resolve()

  function watch() {
    server.exited.then((code) => {
      if (stopping) return
      log(`The embedded PostgreSQL ended by itself (exit code ${code}); it is started again`)
      reviving = revive()
    })
  }

  async function revive() {
    for (let pause = pauseMs; !stopping; pause = Math.min(2 * pause, pauseMaxMs))
      try {
        server = await start()
        log('The embedded PostgreSQL is back')
        return watch()
      } catch (error) {
        log(`${(error as Error).message}; trying again`)
        await delay(pause, undefined, { ref: false })
      }
  }

  watch()
  return {
    exited: new Promise(() => {}),
    pids: () => server.pids(),
    async stop() {
      stopping = true
      await reviving
      await server.stop()
    },
  }
}
