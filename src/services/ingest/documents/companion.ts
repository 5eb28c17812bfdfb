/** Creates documents from samples, and stores them in the commit of the samples (document 5, 7.4). */
import type { Bus } from '../../../kernel/bus.ts'
import { createCache } from '../../../kernel/cache.ts'
import type { Sql, TransactionSql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint, DeviceMessage } from '../../../kernel/device.ts'
import { ApplicationDeleted } from '../../applications/events.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import type { CompanionRows, SampleCompanion } from '../../time-series/contract.ts'
import { IndexChanged, TemplateChanged } from '../events.ts'
import { documentRejected } from '../log-messages.ts'
import * as store from '../store/documents.ts'
import { findFields, findTemplate, insertFields } from '../store/templates.ts'
import type { DocumentOutcome } from '../workers/protocol.ts'
import { createDocumentIds } from './document-ids.ts'
import { createKnownFields, type Field, type KnownFields } from './fields.ts'
import type { Partitions } from './partitions.ts'
import type { PipelineQueue } from './pipeline-queue.ts'
import type { DocumentRow } from './rows.ts'
import { exactSamples, withError, writeDocument } from './sample-document.ts'

/** The part of an application's template that is needed to store its documents. */
interface Collecting {
  indexNo: number
  pipelineId: string | undefined
  fields: KnownFields
}

interface Cached {
  tenantId: string
  /** Absent if the application has no template. Its samples then do not become documents. */
  collecting?: Collecting
}

interface DocumentRows extends CompanionRows {
  rows: DocumentRow[]
  /** Number of the index, if a pipeline changed fields that are also stored in columns. */
  changedIndexNo: number | undefined
}

export interface CompanionDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'log' | 'quota'>
  queue: PipelineQueue
  partitions: Partitions
  /** Called in the transaction that stores documents. */
  stored?: ((sql: Sql, rows: DocumentRow[]) => Promise<void>) | undefined
}

const invalidData = /^(22|54)/
const noPartition = '23514'
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code ?? ''

export function createCompanion(deps: CompanionDeps): SampleCompanion {
  const { kit, queue } = deps
  const templates = createTemplateCache(kit.bus)
  const newDocumentId = createDocumentIds(kit.newId)
  const recordFields = createFieldRecorder(kit)

  const load = ({ tenantId, applicationName }: DeviceEndpoint) =>
    templates.read(applicationName, async () => {
      const row = await findTemplate(kit.db.sql, tenantId, applicationName)
      if (!row) return { tenantId }
      const fields = createKnownFields()
      fields.add(await findFields(kit.db.sql, [row.indexNo]))
      const { indexNo, defaultPipeline } = row
      return { tenantId, collecting: { indexNo, pipelineId: defaultPipeline ?? undefined, fields } }
    })

  async function loadAndPrepare(message: DeviceMessage, samples: unknown[]) {
    const cached = await load(message.endpoint)
    return cached?.collecting ? await prepare(cached.collecting, message, samples) : undefined
  }

  async function prepare(collecting: Collecting, message: DeviceMessage, samples: unknown[]): Promise<DocumentRows> {
    const { endpoint } = message
    const arrivedAt = message.receivedAt.getTime()
    const rows: DocumentRow[] = []
    let isChanged = false
    const add = (doc: string, ts: number | null) =>
      rows.push({
        id: newDocumentId(arrivedAt),
        arrivedAt,
        ts,
        indexNo: collecting.indexNo,
        endpointId: endpoint.endpointId,
        versionName: endpoint.versionName,
        doc,
      })
    const found: Field[] = []
    const exact = exactSamples(message, samples)
    const texts = exact.map((sample) => writeDocument(message, sample, exact !== samples))
    if (collecting.pipelineId === undefined) {
      for (const [index, sample] of exact.entries()) {
        add(texts[index]!, arrivedAt)
        found.push(...collecting.fields.newFields({ dataSample: sample }))
      }
    } else {
      const { pipelineId, indexNo } = collecting
      const outcomes = await queue.run({ ...endpoint, pipelineId, indexNo }, texts)
      for (const [index, outcome] of outcomes.entries()) isChanged = addOutcome(outcome, texts[index]!) || isChanged
    }
    await recordFields(endpoint, collecting.indexNo, found)
    const bytes = rows.reduce((sum, { doc }) => sum + doc.length * 3 + 300, 0)
    kit.quota.count(
      endpoint.tenantId,
      'documents',
      rows.reduce((sum, { doc }) => sum + doc.length, 0),
    )
    return { bytes, rows, changedIndexNo: isChanged ? collecting.indexNo : undefined }

    /** Adds the row of an outcome, unless the document was dropped. Returns whether columns of the document differ from its fields. */
    function addOutcome(outcome: DocumentOutcome, text: string): boolean {
      if ('dropped' in outcome) return false
      if ('error' in outcome) {
        add(withError(text, outcome.error), arrivedAt)
        return false
      }
      const fields = outcome.fields ?? []
      found.push(...fields)
      const ts = outcome.ts === undefined ? arrivedAt : outcome.ts
      add(outcome.doc, ts)
      return outcome.envelopeChanged || ts !== arrivedAt
    }
  }

  return {
    prepare(message, samples) {
      const cached = templates.get(message.endpoint.applicationName)
      if (!cached) return loadAndPrepare(message, samples)
      return cached.collecting && prepare(cached.collecting, message, samples)
    },
    store: createStore(deps),
  }
}

/** Returns a function that records new fields of documents. */
function createFieldRecorder(kit: CompanionDeps['kit']) {
  /** Fields whose insert failed. They are inserted together with the next new fields of their index. */
  const unrecorded = new Map<number, Field[]>()

  return async ({ tenantId, applicationName }: DeviceEndpoint, indexNo: number, fields: Field[]) => {
    if (fields.length === 0 && unrecorded.size === 0) return
    const all = [...(unrecorded.get(indexNo) ?? []), ...fields]
    if (all.length === 0) return
    unrecorded.set(indexNo, all)
    await kit.db.tx(async (sql) => {
      await insertFields(sql, indexNo, all)
      await kit.bus.publish(sql, IndexChanged, { tenantId, applicationName })
    })
    unrecorded.delete(indexNo)
  }
}

/** Returns a function that stores documents in the transaction of their samples. */
function createStore(deps: CompanionDeps): SampleCompanion['store'] {
  const { kit, partitions } = deps
  /** Groups that contain a document that PostgreSQL rejected. Their documents are written one by one. */
  const rejectedGroups = new WeakSet<CompanionRows>()

  async function write(sql: Sql, all: DocumentRow[], isRepeated: boolean, isOneByOne: boolean) {
    await partitions.ensure(sql, all)
    if (isOneByOne) {
      for (const row of all) {
        if (await store.insertOrReject(sql as TransactionSql, row)) continue
        documentRejected(kit.log, { endpointId: row.endpointId, documentId: row.id })
        const error = { processor: '', type: 'illegal_argument_exception', reason: 'the document cannot be stored' }
        await store.insertDocuments(sql, [{ ...row, ts: row.arrivedAt, doc: JSON.stringify({ ingestError: error }) }])
      }
    } else if (isRepeated) await store.insertDocuments(sql, all)
    else await store.copyDocuments(sql, all)
    await deps.stored?.(sql, all)
  }

  return async (sql, groups, isRepeated) => {
    const documentRows = groups as DocumentRows[]
    const all = documentRows.flatMap(({ rows }) => rows)
    if (all.length === 0) return
    try {
      await write(sql, all, isRepeated, rejectedGroups.has(groups[0]!))
      const changed = documentRows.flatMap(({ changedIndexNo }) => changedIndexNo ?? [])
      if (changed.length === 0) return
      const indices = await store.markEnvelopeChanged(sql, [...new Set(changed)])
      await kit.bus.publishAll(sql, IndexChanged, indices)
    } catch (error) {
      if (codeOf(error) === noPartition) partitions.invalidate()
      if (!invalidData.test(codeOf(error)) || rejectedGroups.has(groups[0]!)) throw error
      // An error without a PostgreSQL code counts as temporary, so the whole group is written again.
      rejectedGroups.add(groups[0]!)
      throw new Error('a document was not accepted; writing documents one by one', { cause: error })
    }
  }
}

function createTemplateCache(bus: Bus) {
  const cache = createCache<Cached>({ max: 100_000, groupOf: ({ tenantId }) => tenantId, bus })
  cache.dropOn(TemplateChanged, ({ applicationName }) => applicationName)
  cache.dropOn(ApplicationDeleted, ({ applicationName }) => applicationName)
  bus.subscribe(TenantDeleted, ({ tenantId }) => cache.dropGroup(tenantId))
  return cache
}
