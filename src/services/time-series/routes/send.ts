import { Readable } from 'node:stream'
import type { Reply, Request } from '../../../kernel/http/routes.ts'
import type { OperationSchema } from '../../../kernel/schema.ts'
import { createTurns } from '../../../kernel/turns.ts'

export const jsonType = 'application/json; charset=utf-8'
export const csvType = 'text/csv; charset=utf-8; header=present'

/** Returns true if the Accept header gives CSV at least the weight of JSON. */
export function wantsCsv(accept = ''): boolean {
  const accepted = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
  })
  const weightOf = (type: string) => accepted.find((range) => range.type === type)?.weight ?? 0
  return weightOf('text/csv') > 0 && weightOf('text/csv') >= weightOf('application/json')
}

/** Sends buffers only as fast as the client reads. An error before the first buffer becomes an HTTP error. */
export async function sendBuffers(
  { raw }: Pick<Request<OperationSchema>, 'raw'>,
  reply: Reply,
  type: string,
  buffers: AsyncIterable<Buffer>,
) {
  const iterator = buffers[Symbol.asyncIterator]()
  const first = await iterator.next()
  reply.type(type)
  if (raw.method === 'HEAD') {
    await iterator.return?.()
    return reply.send(Readable.from([]))
  }
  const body = Readable.from(startingWith(first, iterator), { highWaterMark: 1 })
  // A client that has disconnected never starts reading, so the slot of the response limit is released here.
  body.once('close', () => void iterator.return?.())
  return reply.send(body)
}

async function* startingWith(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>) {
  // If the client reads fast, this loop never waits for the client. It pauses by itself, so that other requests can run.
  const takeTurns = createTurns()
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      yield next.value
      const turn = takeTurns()
      if (turn) await turn
    }
  } finally {
    await rest.return?.()
  }
}
