import type { Writable } from 'node:stream'

/** What `sql`copy … from stdin`` is before anybody waits for it. */
export interface CopyQuery {
  writable(): Promise<Writable>
}

/**
 * Sends one COPY … FROM STDIN and resolves when the server has said that all of it is there. Within a transaction, or by `db.copyIn`:
 * else the driver would put other queries between the data.
 *
 * The driver forgets the stream once all was sent: an error that the server finds after that reaches nobody but the query,
 * which has been resolved with the stream long ago. So listen there.
 */
export async function copyIn(query: CopyQuery, content: () => Buffer | Promise<Buffer>): Promise<void> {
  const watched = query as unknown as { reject(error: unknown): void }
  const { reject } = watched
  const failed = new Promise<never>((_, fail) => {
    watched.reject = (error) => {
      fail(error)
      reject(error)
    }
  })
  failed.catch(() => {})
  const stream = await query.writable()
  const sent = new Promise<void>((done, fail) => {
    stream.once('finish', done).once('error', fail)
  })
  sent.catch(() => {})
  try {
    stream.end(await content())
  } catch (error) {
    stream.destroy(error as Error)
    throw error
  }
  await Promise.race([sent, failed])
}
