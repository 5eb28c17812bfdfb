/** A small search engine over HTTP: index templates, bulk writes and searches, as Elasticsearch and OpenSearch have them. */
import { createServer, type IncomingMessage } from 'node:http'

type Source = Record<string, unknown>
type Query = Record<string, never>

interface Stored {
  _index: string
  _id: string
  _source: Source
}

const valuesOf = (value: unknown, path: string[]): unknown[] => {
  if (Array.isArray(value)) return value.flatMap((item) => valuesOf(item, path))
  if (path.length === 0) return value === undefined || value === null ? [] : [value]
  if (typeof value !== 'object' || value === null) return []
  return valuesOf((value as Source)[path[0]!], path.slice(1))
}

const comparisons: Record<string, (a: never, b: never) => boolean> = {
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
}

function matches(query: Query, source: Source): boolean {
  const [[kind, body]] = Object.entries(query) as unknown as [[string, Record<string, unknown>]]
  const [field = '', wanted] = Object.entries(body)[0] ?? []
  const values = () => valuesOf(source, field.split('.'))
  const all = (name: string) => [(body[name] ?? []) as Query | Query[]].flat()
  switch (kind) {
    case 'match_all':
      return true
    case 'term':
      return values().includes(wanted)
    case 'terms':
      return values().some((value) => (wanted as unknown[]).includes(value))
    case 'exists':
      return valuesOf(source, String(body.field).split('.')).length > 0
    case 'range':
      return values().some((value) =>
        Object.entries(wanted as Source).every(([name, bound]) => comparisons[name]!(value as never, bound as never)),
      )
    case 'bool': {
      const should = all('should')
      const minimum = Number(body.minimum_should_match ?? 0)
      return (
        [...all('filter'), ...all('must')].every((one) => matches(one, source)) &&
        !all('must_not').some((one) => matches(one, source)) &&
        should.filter((one) => matches(one, source)).length >= Math.min(minimum, should.length)
      )
    }
    default:
      throw new Error(`unknown query [${kind}]`)
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

/** Starts the search engine. `state.isAway` makes it answer 503. */
export async function openSearchEngine() {
  const documents = new Map<string, Stored>()
  const state = {
    isAway: false,
    /** Ids in the order in which they were written. */
    written: [] as string[],
    templates: new Map<string, Source>(),
    searches: [] as { path: string; body: Source }[],
    authorizations: new Set<string | undefined>(),
  }

  function bulk(text: string) {
    const lines = text.trimEnd().split('\n')
    for (let place = 0; place < lines.length; place += 2) {
      const { index } = JSON.parse(lines[place]!) as { index: { _index: string; _id: string } }
      documents.set(`${index._index}/${index._id}`, { ...index, _source: JSON.parse(lines[place + 1]!) })
      state.written.push(index._id)
    }
    return { errors: false, items: [] }
  }

  function search(path: string, body: Source) {
    state.searches.push({ path, body })
    const patterns = decodeURIComponent(path.split('/')[1]!)
      .split(',')
      .map((pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`))
    const { excludes } = body._source as { excludes: string[] }
    const found = [...documents.values()].filter(
      ({ _index, _source }) =>
        patterns.some((pattern) => pattern.test(_index)) && matches(body.query as Query, _source),
    )
    const hits = found.slice(Number(body.from), Number(body.from) + Number(body.size)).map((hit) => ({
      ...hit,
      _source: Object.fromEntries(Object.entries(hit._source).filter(([name]) => !excludes.includes(name))),
    }))
    return { took: 1, timed_out: false, hits: { total: { value: found.length, relation: 'eq' }, hits } }
  }

  const server = createServer(async (request, response) => {
    const text = await bodyOf(request)
    const [path = ''] = (request.url ?? '').split('?')
    state.authorizations.add(request.headers.authorization)
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (state.isAway) return send(503, { error: { reason: 'the engine is away' } })
    try {
      if (path === '/_bulk') return send(200, bulk(text))
      if (path.startsWith('/_index_template/')) {
        state.templates.set(decodeURIComponent(path.slice('/_index_template/'.length)), JSON.parse(text))
        return send(200, { acknowledged: true })
      }
      if (path.endsWith('/_search')) return send(200, search(path, JSON.parse(text)))
      if (path.endsWith('/_delete_by_query')) {
        const { query } = JSON.parse(text)
        for (const [key, { _source }] of documents) if (matches(query, _source)) documents.delete(key)
        return send(200, {})
      }
      return send(404, {})
    } catch (error) {
      return send(400, { error: { reason: (error as Error).message } })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const { port } = server.address() as { port: number }
  return {
    state,
    documents,
    url: `http://elastic:pass%20word@127.0.0.1:${port}`,
    close: () => void server.close(),
  }
}
