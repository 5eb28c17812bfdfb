import { setTimeout as delay } from 'node:timers/promises'
import type { Server } from './server.ts'

const pauseMs = 500
const pauseMaxMs = 5000

/**
 * Starts the server, and restarts it whenever it exits on its own, for example because memory or disk space ran out. Connections are
 * refused until it runs again.
 */
export async function startWithRestarts(start: () => Promise<Server>, log: (line: string) => void): Promise<Server> {
  let server = await start()
  let stopping = false
  let restarting = Promise.resolve()

  function watch() {
    server.exited.then((code) => {
      if (stopping) return
      log(`The embedded PostgreSQL exited by itself (exit code ${code}); restarting it`)
      restarting = restart()
    })
  }

  async function restart() {
    for (let pause = pauseMs; !stopping; pause = Math.min(2 * pause, pauseMaxMs))
      try {
        server = await start()
        log('The embedded PostgreSQL is running again')
        return watch()
      } catch (error) {
        log(`${(error as Error).message}; retrying`)
        await delay(pause, undefined, { ref: false })
      }
  }

  watch()
  return {
    exited: new Promise(() => {}),
    pids: () => server.pids(),
    async stop() {
      stopping = true
      await restarting
      await server.stop()
    },
  }
}
