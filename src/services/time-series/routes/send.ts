import { Readable } from 'node:stream'
import type { Reply, Request } from '../../../kernel/http/routes.ts'
import type { OperationSchema } from '../../../kernel/schema.ts'

export const jsonType = 'application/json; charset=utf-8'

/** As fast as its reader takes it, each piece for itself. What goes wrong before the first one is an error as any other. */
export async function sendPieces(
  { raw }: Pick<Request<OperationSchema>, 'raw'>,
  reply: Reply,
  type: string,
  pieces: AsyncIterable<Buffer>,
) {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  reply.type(type)
  if (raw.method === 'HEAD') {
    await iterator.return?.()
    return reply.send(Readable.from([]))
  }
  return reply.send(Readable.from(startingWith(first, iterator), { highWaterMark: 1 }))
}

async function* startingWith(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>) {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
