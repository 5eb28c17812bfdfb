/** Updates the directory from the queue of changed endpoints. One node at a time does so, in short transactions. */
import { performance } from 'node:perf_hooks'
import { monotonicMs, sleepUnlessAborted } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { PeriodicTask } from '../../../kernel/periodic.ts'
import type { Metadata } from '../metadata/metadata.ts'
import { type DirectoryDocument, type DirectorySettings, documentOf, type Place } from './document.ts'
import type { DirectorySettingsOf } from './settings.ts'
import * as store from './store/documents.ts'
import { type PlacedEndpoint, replacePlaces } from './store/places.ts'
import { addToValueCounts, type ValueCount } from './store/value-counts.ts'

export interface Indexing {
  /** Updates the directory until the queue is empty. */
  run(): Promise<void>
  /** Enqueues all endpoints of an application, after its configuration has changed. */
  enqueueApplication(sql: Sql, application: { tenantId: string; applicationName: string }): Promise<void>
  periodic: PeriodicTask
}

interface Deps {
  db: Db
  settingsOf: DirectorySettingsOf
}

/** Number of endpoints whose metadata is in memory at the same time. This metadata takes at most 16 MB. */
const endpointsPerStep = 250
const periodSeconds = 2
/** A run ends after this time, and the next run continues. */
const runMs = 10_000
/** The pause after a step is this many times as long as the step. */
const pausesPerStep = 3
/**
 * Replaces `pausesPerStep` while the node is busy, for example with a batch of registrations, unless the last run ended before the queue
 * was empty.
 */
const pausesPerStepIfBusy = 20
const busyShare = 0.3

const EnqueueApplication = defineJob<{ tenantId: string; applicationName: string }>('register.index-application', {
  timeoutSeconds: 600,
})
const endpointsPerEnqueue = 5000
/** The job starts after this delay, because it takes other nodes up to a second to read a changed configuration. */
const enqueueDelaySeconds = 3

export function createIndexing({ db, jobs }: Kit, settingsOf: DirectorySettingsOf): Indexing {
  const deps: Deps = { db, settingsOf }
  let isLate = false
  jobs.handle(EnqueueApplication, async (application, { signal }) => {
    for (let after: number | undefined = -1; after !== undefined; ) {
      signal.throwIfAborted()
      const position: number = after
      after = await db.tx((sql) =>
        store.enqueueAll(sql, { ...application, after: position, limit: endpointsPerEnqueue }),
      )
    }
  })
  return {
    async run() {
      while (await step(deps));
    },
    enqueueApplication: (sql, application) =>
      jobs.send(sql, EnqueueApplication, application, { startAfter: enqueueDelaySeconds }),
    periodic: {
      name: 'register.update-directory',
      everySeconds: periodSeconds,
      async run(sql, signal = new AbortController().signal) {
        if (await store.isQueueEmpty(sql)) {
          isLate = false
          return
        }
        isLate = await runForAWhile(deps, isLate, signal)
        await store.mergeMetadataIndex(sql)
      },
    },
  }
}

/**
 * Updates the directory in steps. Each pause is longer than the step before it: a document takes more database time than a registration, so
 * steps without pauses would slow registrations. Returns whether the queue may have more endpoints. When the node stops, the pause ends and
 * no further step runs.
 */
async function runForAWhile(deps: Deps, isLate: boolean, signal: AbortSignal): Promise<boolean> {
  const began = monotonicMs()
  for (;;) {
    const stepBegan = monotonicMs()
    const utilization = performance.eventLoopUtilization()
    const hasMore = await step(deps)
    const now = monotonicMs()
    if (!hasMore || now - began > runMs || signal.aborted) return hasMore
    const isBusy = performance.eventLoopUtilization(utilization).utilization > busyShare
    await sleepUnlessAborted((isBusy && !isLate ? pausesPerStepIfBusy : pausesPerStep) * (now - stepBegan), signal)
    if (signal.aborted) return true
  }
}

/** Updates some endpoints. Returns whether the queue may have more endpoints. */
async function step({ db, settingsOf }: Deps): Promise<boolean> {
  return await db.tx(async (sql) => {
    const queued = distinct(await store.takeFromQueue(sql, endpointsPerStep))
    if (queued.length === 0) return false
    const changed = await store.findChanged(sql, queued)
    const documents: Document[] = []
    for (const endpoint of changed)
      if (endpoint.metadata) documents.push(documentFor(endpoint, endpoint.metadata, await settingsOf(endpoint)))
    const existing = new Set(changed.map(keyOf))
    const deleted = queued.filter((one) => !existing.has(keyOf(one)))
    await replaceDocuments(sql, documents, deleted)
    await store.saveConnections(sql, changed)
    return true
  })
}

type Document = store.EndpointKey & DirectoryDocument

const keyOf = ({ tenantId, applicationName, seq }: store.EndpointKey) => `${seq} ${applicationName} ${tenantId}`

/** Removes duplicates, so that an endpoint that changed several times is updated once. */
function distinct(queued: store.QueuedEndpoint[]): store.QueuedEndpoint[] {
  const byKey = new Map<string, store.QueuedEndpoint>()
  for (const one of queued)
    byKey.set(keyOf(one), { ...one, whole: one.whole || (byKey.get(keyOf(one))?.whole ?? false) })
  return [...byKey.values()]
}

function documentFor(endpoint: store.ChangedEndpoint, metadata: Metadata, settings: DirectorySettings): Document {
  const { reportedLatitude: latitude, reportedLongitude: longitude } = endpoint
  const document = documentOf({ ...endpoint, metadata }, settings)
  const reported = settings.series && latitude !== null && longitude !== null ? { latitude, longitude } : undefined
  return { ...withoutContent(endpoint), ...document, place: reported ?? document.place }
}

/** Writes only the differences from the stored documents. */
async function replaceDocuments(sql: Sql, documents: Document[], deleted: store.EndpointKey[]) {
  const stored = new Map(
    (await store.findDocuments(sql, [...documents, ...deleted].map(withoutContent))).map((one) => [keyOf(one), one]),
  )
  const changed = documents.filter((document) => differs(document, stored.get(keyOf(document))))
  const removedFrom = [...changed, ...deleted].flatMap((one) => stored.get(keyOf(one)) ?? [])
  const [valuesBefore, valuesAfter] = [removedFrom.flatMap(sortValuesOf), changed.flatMap(sortValuesOf)]
  await store.replaceSortValues(sql, except(valuesBefore, valuesAfter), except(valuesAfter, valuesBefore))
  const [placesBefore, placesAfter] = [
    removedFrom.flatMap((one) => placed(one, placeOfStored(one))),
    changed.flatMap((one) => placed(one, one.place)),
  ]
  await replacePlaces(sql, except(placesBefore, placesAfter), except(placesAfter, placesBefore))
  await addToValueCounts(sql, [
    ...removedFrom.flatMap((one) => countsOf(one, -1)),
    ...changed.flatMap((one) => countsOf(one, 1)),
  ])
  if (changed.length > 0) await store.saveDocuments(sql, changed)
  if (deleted.length > 0) await store.deleteDocuments(sql, deleted.map(withoutContent))
}

const withoutContent = ({ tenantId, applicationName, seq }: store.EndpointKey): store.EndpointKey => ({
  tenantId,
  applicationName,
  seq,
})

function differs(document: Document, stored: store.StoredDocument | undefined): boolean {
  if (!stored || stored.text !== document.text) return true
  const place = placeOfStored(stored)
  if (place?.latitude !== document.place?.latitude || place?.longitude !== document.place?.longitude) return true
  return !hasSameValues(stored.sorted, document.sorted) || !hasSameValues(stored.counted, document.counted)
}

function hasSameValues(one: Record<string, string>, other: Record<string, string>): boolean {
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key])
}

const countsOf = (document: store.EndpointKey & { counted: Record<string, string> }, count: number): ValueCount[] =>
  Object.entries(document.counted).map(([key, value]) => ({ ...withoutContent(document), key, value, count }))

const placeOfStored = ({ latitude, longitude }: store.StoredDocument): Place | undefined =>
  latitude === null || longitude === null ? undefined : { latitude, longitude }

const placed = (key: store.EndpointKey, place: Place | undefined): PlacedEndpoint[] =>
  place ? [{ ...withoutContent(key), ...place }] : []

const sortValuesOf = (document: store.EndpointKey & { sorted: Record<string, string> }): store.SortValue[] =>
  Object.entries(document.sorted).map(([key, value]) => ({ ...withoutContent(document), key, value }))

/** Returns the objects of the first list that are not in the second. */
function except<T extends object>(list: T[], other: T[]): T[] {
  // New endpoints have no old values, so no texts are built for them. Building these texts took 4 % of the main thread in the bench
  // `registration`.
  if (list.length === 0 || other.length === 0) return list
  const textOf = (one: T) => JSON.stringify(Object.entries(one).sort())
  const others = new Set(other.map(textOf))
  return list.filter((one) => !others.has(textOf(one)))
}
