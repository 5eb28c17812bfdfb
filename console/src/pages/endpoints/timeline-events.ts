/** Combines records of several services about one endpoint into events, the newest first. */
import {
  type Message,
  mayConcern,
  type Refusal,
  refusalText,
  rejectionOf,
  statusOf,
} from '../../api/device-messages.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import type { IconName } from '../../parts/icons.tsx'
import { msOf } from '../../parts/time.tsx'
import { texts } from './detail-texts.ts'

export type EventKind = 'traffic' | 'refusals' | 'connection' | 'commands' | 'configuration' | 'software' | 'alerts'

export interface TimelineEvent {
  id: string
  at: number
  kind: EventKind
  icon: IconName
  tone: 'good' | 'bad' | 'usual'
  title: string
  /** One sentence: the outcome, or the reason of a problem. */
  why: string | undefined
  /** The payload of a message, shown in one line. */
  preview?: string | undefined
  correlationId?: string | undefined
  /** Payloads, each with its name. */
  details: { name: string; text: string }[]
}

type Connection = ItemOf<'endpoints.connections.list'>
type Alert = ItemOf<'alerts.list'>
type Status = ItemOf<'configurations.statuses.list'>
interface Command {
  commandId: number
  commandType: string
  status: 'PENDING' | 'EXECUTED' | 'EXPIRED'
  statusCode?: number
  reasonPhrase?: string
  requestPayload?: unknown
  responsePayload?: unknown
  createdAt: string
}
interface Attempt {
  version: string
  offeredDate: string
  reportedDate?: string
  statusCode?: number
  reasonPhrase?: string
}

/** Returns the events of messages. A request and its response have the same correlation id and become one event. */
export function trafficEvents(messages: Message[]): TimelineEvent[] {
  const groups = new Map<string, Message[]>()
  for (const message of messages)
    groups.set(message.correlationId, [...(groups.get(message.correlationId) ?? []), message])
  return [...groups].map(([correlationId, group]) => {
    const ordered = group.toSorted((a, b) => msOf(a.createdAt) - msOf(b.createdAt))
    const first = ordered.find(({ direction }) => direction === 'INBOUND') ?? ordered[0]!
    const answer = ordered.find((message) => statusOf(message) !== undefined)
    const status = answer && statusOf(answer)
    const isBad = status !== undefined && status >= 400
    const extensionName = texts.extension[first.extension] ?? first.extension
    return {
      ...{ id: `traffic ${correlationId}`, at: msOf(first.createdAt), kind: 'traffic', correlationId },
      icon: isBad ? 'alert' : first.direction === 'INBOUND' ? 'arrowUp' : 'arrowDown',
      tone: isBad ? 'bad' : 'usual',
      title: first.direction === 'INBOUND' ? texts.sent(extensionName) : texts.received(extensionName),
      why: isBad ? texts.rejected(status, rejectionOf(answer!) ?? texts.noReason) : undefined,
      preview: first.payload === '' ? undefined : first.payload,
      details: ordered.map((message) => ({
        name: `${texts.direction[message.direction]} · ${message.extension}${message.resourcePath}`,
        text: message.additionalMetadata?.payloadOmitted
          ? texts.payloadOmitted
          : message.payload === ''
            ? texts.noPayload
            : message.payload,
      })),
    } satisfies TimelineEvent
  })
}

export const refusalEvents = (refusals: Refusal[], endpointId: string, versionName: string): TimelineEvent[] =>
  refusals
    .filter((one) => mayConcern(one, endpointId, versionName))
    .map((refusal, index) => ({
      ...{ id: `refusal ${refusal.createdAt} ${index}`, at: msOf(refusal.createdAt), kind: 'refusals', icon: 'alert' },
      tone: 'bad',
      title: refusal.endpointId ? texts.refused(refusal.count) : texts.refusedUnknown(refusal.count),
      why: refusalText(refusal),
      details: [{ name: texts.origin, text: JSON.stringify(refusal, null, 2) }],
    }))

export const connectionEvents = (connections: Connection[]): TimelineEvent[] =>
  connections.map(({ at, connected, reason }, index) => ({
    ...{ id: `connection ${at} ${index}`, at: msOf(at), kind: 'connection', icon: connected ? 'wifi' : 'unplug' },
    ...{ tone: connected ? 'good' : 'usual', title: connected ? texts.connected : texts.disconnected },
    ...{ why: reason && reason[0]!.toUpperCase() + reason.slice(1), details: [] },
  }))

const json = (value: unknown) => JSON.stringify(value, null, 2)

export const commandEvents = (commands: Command[]): TimelineEvent[] =>
  commands.map((command) => {
    const { commandId, commandType, status, statusCode, reasonPhrase, requestPayload, responsePayload } = command
    const isBad = status === 'EXPIRED' || (statusCode ?? 0) >= 400
    return {
      ...{ id: `command ${commandType} ${commandId}`, at: msOf(command.createdAt), kind: 'commands', icon: 'send' },
      tone: isBad ? 'bad' : status === 'EXECUTED' ? 'good' : 'usual',
      title: texts.commandSent(`${commandType} ${commandId}`),
      why:
        status === 'EXECUTED'
          ? texts.commandState.EXECUTED([statusCode, reasonPhrase].filter((part) => part !== undefined).join(' '))
          : texts.commandState[status],
      details: [
        ...(requestPayload === undefined ? [] : [{ name: texts.direction.OUTBOUND, text: json(requestPayload) }]),
        ...(responsePayload === undefined ? [] : [{ name: texts.direction.INBOUND, text: json(responsePayload) }]),
      ],
    }
  })

export const configurationEvents = (statuses: Status[]): TimelineEvent[] =>
  statuses.flatMap((status) => {
    const at = status.lastConfirmedDate ?? status.lastDispatchedDate
    if (at === undefined) return []
    const { confirmationStatusCode, confirmationReasonPhrase } = status
    const report = [confirmationStatusCode, confirmationReasonPhrase].filter((part) => part !== undefined).join(' ')
    return [
      {
        ...{ id: `configuration ${status.configId}`, at: msOf(at), kind: 'configuration', icon: 'sliders' },
        tone: status.status === 'FAILED' ? 'bad' : status.status === 'APPLIED' ? 'good' : 'usual',
        title: texts.configurationOf(status.name),
        why: `${texts.configurationState[status.status]}${report === '' ? '' : ` (${report})`}`,
        details: status.config === undefined ? [] : [{ name: texts.configurationOf(status.name), text: status.config }],
      } satisfies TimelineEvent,
    ]
  })

export const softwareEvents = (attempts: Attempt[]): TimelineEvent[] =>
  attempts.map(({ version, offeredDate, reportedDate, statusCode, reasonPhrase }) => ({
    ...{ id: `software ${version} ${offeredDate}`, at: msOf(reportedDate ?? offeredDate), kind: 'software' },
    icon: 'package',
    tone: statusCode === undefined ? 'usual' : statusCode < 400 ? 'good' : 'bad',
    title: texts.softwareOffered(version),
    why:
      statusCode === undefined
        ? texts.softwareWaiting
        : `${texts.softwareReported(statusCode)}${reasonPhrase ? `: ${reasonPhrase}` : ''}`,
    details: [],
  }))

export const alertEvents = (alerts: Alert[]): TimelineEvent[] =>
  alerts.flatMap((alert) => {
    const { id, alertType, startedAt, resolvedAt, message, activateReason, resolveReason, metadata } = alert
    const details = Object.keys(metadata).length === 0 ? [] : [{ name: texts.tab.metadata, text: json(metadata) }]
    const started = {
      ...{ id: `alert ${id}`, at: msOf(startedAt), kind: 'alerts', icon: 'bell', tone: 'bad' },
      ...{ title: texts.alertStarted(alertType), why: message ?? activateReason, details },
    } satisfies TimelineEvent
    if (resolvedAt === undefined) return [started]
    const resolved = {
      ...{ id: `alert ${id} resolved`, at: msOf(resolvedAt), kind: 'alerts', icon: 'bell', tone: 'good' },
      ...{ title: texts.alertResolved(alertType), why: resolveReason, details: [] },
    } satisfies TimelineEvent
    return [started, resolved]
  })
