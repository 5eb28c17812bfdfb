import { Readable } from 'node:stream'
import type { Reply, Request } from '../../../kernel/http/routes.ts'
import type { OperationSchema } from '../../../kernel/schema.ts'

export const jsonType = 'application/json; charset=utf-8'
export const csvType = 'text/csv; charset=utf-8; header=present'

/** Where CSV is named, and not as less welcome than JSON. */
export function wantsCsv(accept = ''): boolean {
  const wishes = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
  })
  const weightOf = (type: string) => wishes.find((wish) => wish.type === type)?.weight ?? 0
  return weightOf('text/csv') > 0 && weightOf('text/csv') >= weightOf('application/json')
}

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
  const body = Readable.from(startingWith(first, iterator), { highWaterMark: 1 })
  // Whoever has gone by now never begins to read, and what is held for the answer would be held for ever.
  body.once('close', () => void iterator.return?.())
  return reply.send(body)
}

async function* startingWith(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>) {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
