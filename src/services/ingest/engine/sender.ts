/**
 * Sends documents to the search engine. One node at a time sends them, in the order of the queue. A document stays in the queue until the
 * search engine has accepted or rejected it.
 */
import { monotonicMs, sleep } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DocumentRow } from '../documents/rows.ts'
import { TemplateChanged } from '../events.ts'
import { engineAnswersAgain, engineFailed, engineRefused, queueIsFull } from '../log-messages.ts'
import * as store from '../store/outgoing.ts'
import { findTemplate } from '../store/templates.ts'
import { type Engine, failureOf, reasonOf } from './client.ts'
import { dayOf, engineName, ownField, ownIndex } from './names.ts'

export interface Sender {
  /** Adds documents to the queue, in the transaction that stores them. If too many documents wait, the new documents are not added. */
  enqueue(sql: Sql, rows: DocumentRow[]): Promise<void>
  start(): void
  stop(): Promise<void>
}

const pauseMs = 1000
const pauseMaxMs = 10_000
/** Lease of the sending node. If that node dies, another node takes over within 10 s. */
const leaseSeconds = 8
const renewMs = 2000
const documentsPerRequest = 1000
const bytesPerRequest = 8 * 1024 * 1024
const reportEveryMs = 60_000
const tooLarge = 413

export function createSender(
  kit: Pick<Kit, 'db' | 'bus' | 'log' | 'members' | 'metrics'>,
  engine: Engine,
  waitingMax: number,
): Sender {
  const { db, log, members } = kit
  const skipped = kit.metrics.counter(
    'waypost_ingest_documents_not_sent_total',
    'Number of documents that were not sent to the search engine, because too many were waiting.',
  )
  let [waiting, reportedAt, failures] = [0, Number.NEGATIVE_INFINITY, 0]
  let isStopped = false
  let loop: Promise<void> | undefined
  const sendBatch = createDelivery(kit, engine)
  let heldAt = Number.NEGATIVE_INFINITY

  async function sendWhileHeld() {
    while (!isStopped) {
      if (monotonicMs() - heldAt > renewMs) {
        heldAt = Number.NEGATIVE_INFINITY
        if (!(await store.holdSender(db.sql, members.nodeId, leaseSeconds))) return
        heldAt = monotonicMs()
        waiting = await store.estimateWaiting(db.sql)
      }
      if (!(await sendBatch())) return
      if (failures > 0) engineAnswersAgain(log, { failures })
      failures = 0
    }
  }

  async function run() {
    while (!isStopped) {
      try {
        await sendWhileHeld()
        waiting = await store.estimateWaiting(db.sql)
      } catch (error) {
        if (isStopped) return
        if (failures++ === 0) engineFailed(log, { reason: failureOf(error), waiting })
      }
      await pause(Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(failures, 5)))
    }
  }

  async function pause(ms: number) {
    const endsAt = monotonicMs() + ms
    while (!isStopped && monotonicMs() < endsAt) await sleep(100)
  }

  return {
    async enqueue(sql, rows) {
      if (waiting < waitingMax) return await store.insertOutgoing(sql, rows)
      skipped.inc(rows.length)
      if (monotonicMs() - reportedAt < reportEveryMs) return
      reportedAt = monotonicMs()
      queueIsFull(log, { waiting, limit: waitingMax })
    },
    start() {
      loop = run()
    },
    async stop() {
      isStopped = true
      await loop
      await store.releaseSender(db.sql, members.nodeId)
    },
  }
}

/** Returns a function that sends the first documents of the queue. The function returns false if the queue is empty. */
function createDelivery({ db, bus, log }: Pick<Kit, 'db' | 'bus' | 'log'>, engine: Engine): () => Promise<boolean> {
  /** The text of the template that was sent to the search engine, by index number. */
  const templates = new Map<number, string>()

  bus.subscribe(TemplateChanged, () => templates.clear())

  async function sendBatch(): Promise<boolean> {
    const rows = await store.findOutgoing(db.sql, documentsPerRequest, bytesPerRequest)
    const [first] = rows
    if (!first) return false
    // A deletion is sent alone, between the documents before and after it.
    const end = rows.findIndex(({ isDeletion }) => isDeletion)
    const batch = first.isDeletion ? [first] : end < 0 ? rows : rows.slice(0, end)
    if (first.isDeletion) await deleteIndex(first.indexNo)
    else await sendDocuments(batch)
    await store.deleteOutgoing(
      db.sql,
      batch.map(({ no }) => no),
    )
    return true
  }

  async function sendDocuments(rows: store.OutgoingRow[]) {
    const present = rows.filter(({ doc, tenantId }) => doc !== null && tenantId !== null)
    for (const row of present) await ensureTemplate(row)
    if (present.length > 0) await sendBulk(present)
  }

  async function sendBulk(rows: store.OutgoingRow[]) {
    const { status, text } = await engine.request('POST', '/_bulk', rows.map(linesOf).join(''))
    if (status === tooLarge) return await sendHalves(rows, reasonOf({ status, text }))
    if (status !== 200) throw new Error(reasonOf({ status, text }))
    const { errors, items = [] } = JSON.parse(text) as {
      errors: boolean
      items?: Record<string, { status: number; error?: { reason?: string } }>[]
    }
    if (!errors) return
    const failed = items.flatMap((item) => Object.values(item)).filter((item) => item.status >= 300)
    const busy = failed.find(({ status: code }) => code === 429 || code >= 500)
    if (busy) throw new Error(busy.error?.reason ?? `status ${busy.status}`)
    // Documents that the search engine rejects are not retried, because they would block all other documents for ever.
    engineRefused(log, { documents: failed.length, reason: failed[0]?.error?.reason })
  }

  /** Sends the rows in two halves, because the search engine or a proxy in front of it has rejected the request as too large. */
  async function sendHalves(rows: store.OutgoingRow[], reason: string) {
    if (rows.length === 1) return engineRefused(log, { documents: 1, reason })
    const middle = rows.length >> 1
    await sendBulk(rows.slice(0, middle))
    await sendBulk(rows.slice(middle))
  }

  /** Before the first document of an index, sends an index template: the types of the application's fields and of the platform's field. */
  async function ensureTemplate({ indexNo, tenantId, applicationName }: store.OutgoingRow) {
    if (templates.has(indexNo)) return
    const row = await findTemplate(db.sql, tenantId!, applicationName!)
    const properties = row
      ? (JSON.parse(row.template) as { mappings?: { properties?: object } }).mappings?.properties
      : {}
    const name = engineName(tenantId!, applicationName!)
    const body = JSON.stringify(templateOf(name, properties ?? {}))
    const answer = await engine.request('PUT', `/_index_template/${encodeURIComponent(`waypost-${name}`)}`, body)
    if (answer.status >= 300) throw new Error(`index template: ${reasonOf(answer)}`)
    templates.set(indexNo, body)
  }

  async function deleteIndex(indexNo: number) {
    const body = JSON.stringify({ query: { term: { [ownIndex]: indexNo } } })
    const path = '/*/_delete_by_query?conflicts=proceed&allow_no_indices=true&expand_wildcards=open'
    const answer = await engine.request('POST', path, body)
    if (answer.status >= 300 && answer.status !== 404) throw new Error(reasonOf(answer))
    templates.delete(indexNo)
  }

  return sendBatch
}

const keyword = { type: 'keyword' }

function templateOf(name: string, properties: object) {
  return {
    index_patterns: [`${name}-*`],
    // If the patterns of two templates match an index, the template with the longer name belongs to it and must win.
    priority: 200 + name.length,
    template: {
      mappings: {
        properties: {
          '@timestamp': { type: 'date' },
          tenantId: keyword,
          appName: keyword,
          appVersionName: keyword,
          endpointId: keyword,
          ...properties,
          [ownField]: {
            properties: {
              index: { type: 'integer' },
              endpointId: keyword,
              arrivedAt: { type: 'date', format: 'epoch_millis' },
            },
          },
        },
      },
    },
  }
}

function linesOf({ tenantId, applicationName, id, arrivedAt, indexNo, endpointId, doc }: store.OutgoingRow): string {
  const _index = `${engineName(tenantId!, applicationName!)}-${dayOf(arrivedAt!)}`
  const waypostFields = JSON.stringify({ [ownField]: { index: indexNo, endpointId, arrivedAt: arrivedAt!.getTime() } })
  const source = doc === '{}' ? waypostFields : `${doc!.slice(0, -1)},${waypostFields.slice(1)}`
  return `${JSON.stringify({ index: { _index, _id: id } })}\n${source}\n`
}
