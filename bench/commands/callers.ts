/** Callers that invoke commands and wait for the results. */
import { type HttpConnection, openHttpConnection } from '../register/http-connection.ts'

export interface Callers {
  /** Each caller invokes one command after the other, until `next` returns no further path. Returns the time of each command in milliseconds. */
  asFastAsPossible(next: () => string | undefined): Promise<number[]>
  /** Starts commands at a steady rate. Returns the time of each command, measured from the moment at which it should have started. */
  atRate(perSecond: number, seconds: number, path: (n: number) => string): Promise<number[]>
  close(): void
}

const tickMs = 5
const payload = { times: 3 }

export const invoke = (connection: HttpConnection, path: string, token: string) =>
  connection.ask('POST', `${path}?awaitTimeout=30`, token, payload)

export async function openCallers(baseUrl: string, count: number, token: string): Promise<Callers> {
  const connections = await Promise.all(Array.from({ length: count }, () => openHttpConnection(baseUrl)))

  async function asFastAsPossible(next: () => string | undefined) {
    const times: number[] = []
    await Promise.all(
      connections.map(async (connection) => {
        for (let path = next(); path !== undefined; path = next()) {
          const began = performance.now()
          await invoke(connection, path, token)
          times.push(performance.now() - began)
        }
      }),
    )
    return times
  }

  async function atRate(perSecond: number, seconds: number, path: (n: number) => string) {
    const total = Math.round(perSecond * seconds)
    const times: number[] = []
    const due: { path: string; since: number }[] = []
    const free = [...connections]
    const began = performance.now()
    let started = 0
    return await new Promise<number[]>((resolve, reject) => {
      const sendDue = () => {
        while (due.length > 0 && free.length > 0) {
          const [connection, command] = [free.pop()!, due.shift()!]
          invoke(connection, command.path, token).then(() => {
            times.push(performance.now() - command.since)
            free.push(connection)
            if (times.length === total) resolve(times)
            else sendDue()
          }, reject)
        }
      }
      const pace = setInterval(() => {
        const dueNow = Math.min(total, Math.floor(((performance.now() - began) / 1000) * perSecond))
        for (; started < dueNow; started++)
          due.push({ path: path(started), since: began + (started / perSecond) * 1000 })
        if (started === total) clearInterval(pace)
        sendDue()
      }, tickMs)
    })
  }

  return {
    asFastAsPossible,
    atRate,
    close() {
      for (const connection of connections) connection.close()
    },
  }
}
