/** A small search engine over HTTP: index templates, bulk writes and searches, with the interface of Elasticsearch and OpenSearch. */
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

/** Checks the name of an index by the rules of Elasticsearch and OpenSearch. */
function checkIndexName(name: string) {
  const isValid = /^[^-_+\\/*?"<>| ,#:A-Z][^\\/*?"<>| ,#:A-Z]*$/.test(name) && Buffer.byteLength(name) <= 255
  if (!isValid) throw new Error(`Invalid index name [${name}]`)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

const newState = () => ({
  isUnavailable: false,
  /** Returns the status with which a document of a bulk request is rejected, or undefined if it is accepted. */
  refuse: (_source: Source): number | undefined => undefined,
  /** Maximum bytes of a bulk request; a larger request is answered with 413. */
  bulkBytesMax: Number.POSITIVE_INFINITY,
  /** Statuses with which the next bulk requests are answered without being executed. */
  bulkStatuses: [] as number[],
  /** If true, the next bulk request is executed, and then the connection is closed without a response. */
  cutsNextBulk: false,
  /** Number of documents of each executed bulk request. */
  bulkSizes: [] as number[],
  /** Ids in the order in which they were written. */
  written: [] as string[],
  templates: new Map<string, Source>(),
  searches: [] as { path: string; body: Source }[],
  authorizations: new Set<string | undefined>(),
})

/** Executes a bulk request. The response has one item for each document. */
function bulk(state: ReturnType<typeof newState>, documents: Map<string, Stored>, text: string) {
  if (!text.endsWith('\n')) throw new Error('The bulk request must be terminated by a newline [\\n]')
  const lines = text.slice(0, -1).split('\n')
  const items: { index: Source }[] = []
  for (let at = 0; at < lines.length; at += 2) {
    const { index } = JSON.parse(lines[at]!) as { index: { _index: string; _id: string } }
    const source = JSON.parse(lines[at + 1]!) as Source
    checkIndexName(index._index)
    const status = state.refuse(source)
    if (status !== undefined) {
      items.push({ index: { ...index, status, error: { type: 'refused', reason: `refused with ${status}` } } })
      continue
    }
    const key = `${index._index}/${index._id}`
    items.push({ index: { ...index, status: documents.has(key) ? 200 : 201 } })
    documents.set(key, { ...index, _source: source })
    state.written.push(index._id)
  }
  state.bulkSizes.push(items.length)
  return { took: 1, errors: items.some(({ index }) => Number(index.status) >= 300), items }
}

/** Starts the search engine. `state.isUnavailable` makes it answer 503. */
export async function openSearchEngine() {
  const documents = new Map<string, Stored>()
  const state = newState()

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
    if (state.isUnavailable) return send(503, { error: { reason: 'the engine is unavailable' } })
    try {
      if (path === '/_bulk') {
        if (request.headers['content-type'] !== 'application/x-ndjson') return send(406, { error: 'content type' })
        if (text.length > state.bulkBytesMax) return send(413, '')
        const status = state.bulkStatuses.shift()
        if (status !== undefined) return send(status, { error: { type: 'refused', reason: `status ${status}` } })
        const answer = bulk(state, documents, text)
        if (!state.cutsNextBulk) return send(200, answer)
        state.cutsNextBulk = false
        return request.socket.destroy()
      }
      if (path.startsWith('/_index_template/')) {
        const { index_patterns: patterns, template } = JSON.parse(text)
        if (!Array.isArray(patterns) || typeof template !== 'object') throw new Error('not an index template')
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
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  await listen(0)
  server.unref()
  const { port } = server.address() as { port: number }
  return {
    state,
    /** Stops listening and closes all connections, as if the process were killed. */
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
    start: () => listen(port),
    documents,
    url: `http://elastic:pass%20word@127.0.0.1:${port}`,
    close: () => void server.close(),
  }
}
