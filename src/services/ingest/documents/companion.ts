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
import { createDocumentIds, type NewDocumentId } from './document-ids.ts'
import { createKnownFields, type Field, type KnownFields } from './fields.ts'
import type { Partitions } from './partitions.ts'
import type { PipelineQueue, PipelineTarget } from './pipeline-queue.ts'
import type { DocumentRow } from './rows.ts'
import { exactSamples, withError, writeDocument } from './sample-document.ts'

/** The part of an application's template that is needed to store documents of the application. */
interface Collecting {
  indexNo: number
  /** Absent if the template has no pipeline. */
  target: PipelineTarget | undefined
  fields: KnownFields
}

interface Cached {
  tenantId: string
  /** Absent if the application has no template. Its samples then do not become documents. */
  collecting?: Collecting
}

interface DocumentRows extends CompanionRows {
  bytes: number
  rows: DocumentRow[]
  /** Number of the index if a pipeline changed a field of a document that a column also contains (origin or time); otherwise undefined. */
  changedIndexNo: number | undefined
}

export interface CompanionDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'log' | 'quota'>
  queue: PipelineQueue
  partitions: Partitions
  /** Called with documents in the transaction that stores them. */
  stored?: ((sql: Sql, rows: DocumentRow[]) => Promise<void>) | undefined
}

const noFields: Field[] = []
const invalidData = /^(22|54)/
const noPartition = '23514'
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code ?? ''

export function createCompanion(deps: CompanionDeps): SampleCompanion {
  const { kit, queue } = deps
  const templates = createTemplateCache(kit.bus)
  const { addUnchanged, addOutcomes } = createRowBuilder(createDocumentIds(kit.newId))
  const recordFields = createFieldRecorder(kit)

  const load = ({ tenantId, applicationName }: DeviceEndpoint) =>
    templates.read(applicationName, async () => {
      const row = await findTemplate(kit.db.sql, tenantId, applicationName)
      if (!row) return { tenantId }
      const fields = createKnownFields()
      fields.add(await findFields(kit.db.sql, [row.indexNo]))
      const { indexNo, defaultPipeline: pipelineId } = row
      const target = pipelineId === null ? undefined : { tenantId, applicationName, pipelineId, indexNo }
      return { tenantId, collecting: { indexNo, target, fields } }
    })

  async function loadAndPrepare(message: DeviceMessage, samples: unknown[]) {
    const cached = await load(message.endpoint)
    return cached?.collecting ? await prepare(cached.collecting, message, samples) : undefined
  }

  async function prepare(collecting: Collecting, message: DeviceMessage, samples: unknown[]): Promise<DocumentRows> {
    const exact = exactSamples(message, samples)
    const texts: string[] = []
    for (const sample of exact) texts.push(writeDocument(message, sample, exact !== samples))
    const { endpoint } = message
    const prepared: DocumentRows = { bytes: 0, rows: [], changedIndexNo: undefined }
    const found =
      collecting.target === undefined
        ? addUnchanged(collecting, prepared, message, exact, texts)
        : addOutcomes(collecting, prepared, message, texts, await queue.run(collecting.target, texts))
    const recorded = recordFields(endpoint, collecting.indexNo, found)
    if (recorded) await recorded
    let length = 0
    for (const { doc } of prepared.rows) length += doc.length
    prepared.bytes = length * 3 + prepared.rows.length * 300
    kit.quota.count(endpoint.tenantId, 'documents', length)
    return prepared
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

/** Returns functions that add the rows of the documents of a message to `prepared`. */
function createRowBuilder(newDocumentId: NewDocumentId) {
  function addRow(
    { indexNo }: Collecting,
    { rows }: DocumentRows,
    message: DeviceMessage,
    doc: string,
    ts: number | null,
  ) {
    const arrivedAt = message.receivedAt.getTime()
    const { endpointId, versionName } = message.endpoint
    rows.push({ id: newDocumentId(arrivedAt), arrivedAt, ts, indexNo, endpointId, versionName, doc })
  }

  /** Adds the rows of documents that no pipeline processes. Returns the fields that the index did not have before. */
  function addUnchanged(
    collecting: Collecting,
    prepared: DocumentRows,
    message: DeviceMessage,
    samples: unknown[],
    texts: string[],
  ): Field[] {
    const found: Field[] = []
    for (const [index, dataSample] of samples.entries()) {
      addRow(collecting, prepared, message, texts[index]!, message.receivedAt.getTime())
      found.push(...collecting.fields.newFields({ dataSample }))
    }
    return found
  }

  /** Adds the rows of processed documents, except dropped documents. Returns the fields that the index did not have before. */
  function addOutcomes(
    collecting: Collecting,
    prepared: DocumentRows,
    message: DeviceMessage,
    texts: string[],
    outcomes: DocumentOutcome[],
  ): Field[] {
    const arrivedAt = message.receivedAt.getTime()
    let found = noFields
    for (let index = 0; index < outcomes.length; index++) {
      const outcome = outcomes[index]!
      if ('dropped' in outcome) continue
      if ('error' in outcome) {
        addRow(collecting, prepared, message, withError(texts[index]!, outcome.error), arrivedAt)
        continue
      }
      const ts = outcome.ts === undefined ? arrivedAt : outcome.ts
      addRow(collecting, prepared, message, outcome.doc, ts)
      if (outcome.envelopeChanged || ts !== arrivedAt) prepared.changedIndexNo = collecting.indexNo
      if (outcome.fields) found = [...found, ...outcome.fields]
    }
    return found
  }

  return { addUnchanged, addOutcomes }
}

/** Returns a function that records new fields of documents. This function returns undefined if there is nothing to record. */
function createFieldRecorder(kit: CompanionDeps['kit']) {
  /** Fields whose insert failed. They are inserted together with the next new fields of their index. */
  const unrecorded = new Map<number, Field[]>()

  const record = async ({ tenantId, applicationName }: DeviceEndpoint, indexNo: number, fields: Field[]) => {
    const all = [...(unrecorded.get(indexNo) ?? []), ...fields]
    if (all.length === 0) return
    unrecorded.set(indexNo, all)
    await kit.db.tx(async (sql) => {
      await insertFields(sql, indexNo, all)
      await kit.bus.publish(sql, IndexChanged, { tenantId, applicationName })
    })
    unrecorded.delete(indexNo)
  }
  return (endpoint: DeviceEndpoint, indexNo: number, fields: Field[]) =>
    fields.length === 0 && unrecorded.size === 0 ? undefined : record(endpoint, indexNo, fields)
}

/** Returns a function that stores documents in the transaction of their samples. */
function createStore(deps: CompanionDeps): SampleCompanion['store'] {
  const { kit, partitions } = deps
  /** Groups in which PostgreSQL rejected a document, each identified by its first rows. Their documents are written one by one. */
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
      // For the writer of samples, an error without a PostgreSQL code is temporary, so it writes the whole group again.
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
