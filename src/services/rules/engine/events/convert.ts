/** Converts events of other services to events of rules. */

import type { EventType } from '../../../../kernel/bus.ts'
import type { CommandDispatched, CommandResultReceived } from '../../../commands/events.ts'
import type { MetadataUpdated } from '../../../register/events.ts'
import type { PointsStored, SamplesReceived } from '../../../time-series/events.ts'
import type { AlertChanged } from '../../events.ts'
import type { PointPayload, RuleEvent, SeriesPayload } from './rule-event.ts'

type PayloadOf<E> = E extends EventType<infer P> ? P : never

/** Events of one tenant. */
export interface TenantEvents {
  tenantId: string
  events: RuleEvent[]
}

const withCause = (cause: string | undefined) => (cause === undefined ? {} : { cause })

/** Converts a JSON value for scripts: a JSON text becomes plain text, any other value stays JSON (document 5, 5.2). */
function plainText(json: string): string {
  if (!json.startsWith('"')) return json
  return JSON.parse(json) as string
}

const plainTexts = (texts: Record<string, string>) =>
  Object.fromEntries(Object.entries(texts).map(([key, json]) => [key, plainText(json)]))

export function metadataEvent(update: PayloadOf<typeof MetadataUpdated>, eventId: string, at: number): RuleEvent {
  const { applicationName, versionName, endpointId, added, updated, removed, cause } = update
  const changes = Object.entries(updated).map(([key, { newValue, oldValue }]) => [
    key,
    { newValue: plainText(newValue), oldValue: plainText(oldValue) },
  ])
  return {
    type: 'endpoint-metadata-updated',
    eventId,
    at,
    endpoint: { endpointId, applicationName, versionName },
    payload: { added: plainTexts(added), updated: Object.fromEntries(changes), removed: plainTexts(removed) },
    ...withCause(cause),
  }
}

/** Creates one event for each message. The parts of a long message are joined. */
export function sampleEvents(received: PayloadOf<typeof SamplesReceived>[]): TenantEvents[] {
  const byMessage = new Map<string, RuleEvent & { payload: { dataSamples: unknown[] } }>()
  const byTenant = new Map<string, RuleEvent[]>()
  for (const { tenantId, applicationName, messages } of received)
    for (const { endpointId, versionName, receivedAt, correlationId, samples, cause } of messages) {
      const key = `${endpointId} ${correlationId}`
      const known = byMessage.get(key)
      if (known) {
        known.payload.dataSamples.push(...samples)
        continue
      }
      const event = {
        type: 'endpoint-data-samples-received' as const,
        eventId: correlationId,
        at: Date.parse(receivedAt),
        endpoint: { endpointId, applicationName, versionName },
        payload: { dataSamples: [...samples] },
        ...withCause(cause),
      }
      byMessage.set(key, event)
      const events = byTenant.get(tenantId)
      if (events) events.push(event)
      else byTenant.set(tenantId, [event])
    }
  return Array.from(byTenant, ([tenantId, events]) => ({ tenantId, events }))
}

/** Creates one event for each endpoint and message. The event contains the points of each series, ordered by time. */
export function pointEvents(stored: PayloadOf<typeof PointsStored>[], newId: () => string): TenantEvents[] {
  const byMessage = new Map<string, { event: RuleEvent; series: Map<string, PointPayload[]> }>()
  const byTenant = new Map<string, RuleEvent[]>()
  for (const { tenantId, applicationName, points } of stored)
    for (const {
      endpointId,
      versionName,
      seriesName,
      timestamp,
      ingestionTimestamp,
      values,
      messageId,
      cause,
    } of points) {
      const key = `${endpointId} ${messageId}`
      let message = byMessage.get(key)
      if (!message) {
        const event: RuleEvent = {
          type: 'endpoint-time-series-updated',
          // The event of the samples in the same message has the same event id, but another type.
          eventId: messageId ?? newId(),
          at: Date.parse(ingestionTimestamp),
          endpoint: { endpointId, applicationName, versionName },
          payload: {},
          ...withCause(cause),
        }
        message = { event, series: new Map() }
        byMessage.set(key, message)
        const events = byTenant.get(tenantId)
        if (events) events.push(event)
        else byTenant.set(tenantId, [event])
      }
      const pointsOfSeries = message.series.get(seriesName)
      if (pointsOfSeries) pointsOfSeries.push({ timestamp, values })
      else message.series.set(seriesName, [{ timestamp, values }])
    }
  for (const { event, series } of byMessage.values()) {
    for (const points of series.values()) sortByTime(points)
    event.payload = Object.fromEntries(series) satisfies SeriesPayload
  }
  return Array.from(byTenant, ([tenantId, events]) => ({ tenantId, events }))
}

function sortByTime(points: { timestamp: string }[]) {
  if (points.length > 1) points.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp))
}

export function commandEvent(
  type: 'endpoint-command-dispatched' | 'endpoint-command-result-received',
  command: PayloadOf<typeof CommandDispatched> | PayloadOf<typeof CommandResultReceived>,
  at: number,
): RuleEvent {
  const { tenantId: _, applicationName, endpointId, ...payload } = command
  return {
    type,
    eventId: `${endpointId}/${command.commandId}`,
    at,
    endpoint: { endpointId, applicationName },
    payload,
  }
}

export function alertEvent(change: PayloadOf<typeof AlertChanged>, at: number): RuleEvent {
  const { applicationName, endpointId, eventId, eventType, alert, cause } = change
  const endpoint =
    applicationName !== undefined && endpointId !== undefined ? { endpointId, applicationName } : undefined
  return {
    type: 'alert-lifecycle-event',
    eventId,
    at,
    ...(endpoint && { endpoint }),
    payload: { eventType, alert },
    ...withCause(cause),
  }
}
