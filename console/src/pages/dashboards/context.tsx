/** The state that all widgets of a dashboard share: values of variables, the current time, applications of endpoints, and live points. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { useEndpointApplications } from '../../api/endpoint-applications.ts'
import { type LiveState, type LiveTopic, useLive } from '../../api/live.ts'
import { useMay } from '../../api/me.ts'
import { useRefresh, useReread } from '../../api/refresh.ts'
import { chosenOf, type Period } from '../../parts/periods.ts'
import { nowMs } from '../../parts/time.tsx'
import { type Definition, seriesOfWidget, type VariableKind } from './definition.ts'
import { createLivePoints, LivePointsContext } from './live-points.ts'
import {
  endpointsOf,
  isMoving,
  periodOfText,
  resolved,
  timeDefault,
  timeVariableOf,
  type Values,
} from './references.ts'

export const refreshes = ['live', '10s', '1m', '5m', 'off'] as const
export type Refresh = (typeof refreshes)[number]

/** Interval at which data is read again. With `live`, new points also arrive through the stream. */
const refreshMs: Record<Refresh, number | undefined> = {
  live: 15_000,
  '10s': 10_000,
  '1m': 60_000,
  '5m': 300_000,
  off: undefined,
}
const tickMs = 10_000
/** Maximum number of endpoints, and of names of series, in a live subscription. */
const namesMax = 1_000

export type Application = { kind: 'known'; name: string } | { kind: 'loading' } | { kind: 'missing' }

export interface DashboardState {
  hasVariable(kind: VariableKind): boolean
  /** Resolves a reference of a widget (see `references.ts`). Returns undefined if no value is chosen. */
  chosen(kind: VariableKind, reference: string | undefined): string | undefined
  /** Returns the time that is chosen for a widget: a duration, or `from/to`. */
  timeOf(reference: string | undefined): string
  periodOf(reference: string | undefined): Period
  applicationOf(endpointId: string): Application
  /** Interval at which data is read again; undefined if data is not read again automatically. */
  refreshMs: number | undefined
  zoom(reference: string | undefined, period: Period): void
}

const Context = createContext<DashboardState | undefined>(undefined)

export function useDashboard(): DashboardState {
  const found = useContext(Context)
  if (!found) throw new Error('This component is used outside of a dashboard')
  return found
}

export interface ProviderProps {
  definition: Definition
  values: Values
  /** Called with the name of a time variable, after a drag over a chart. */
  onTime(name: string, value: string): void
  refresh: Refresh
  onLiveState?(state: LiveState | undefined): void
  children: ReactNode
}

export function DashboardProvider({ definition, values, onTime, refresh, onLiveState, children }: ProviderProps) {
  const now = useTicking(refresh !== 'off' && Object.values(values).some(isMoving))
  const endpointIds = useMemo(() => endpointsOf(definition, values), [definition, values])
  const applications = useEndpointApplications(endpointIds)
  const [live] = useState(createLivePoints)
  const reread = useReread()
  const may = useMay()
  const topics = topicsOf(definition, values, applications.byId)
  const state = useLive(
    topics,
    { onItems: (items) => live.add(items), onGap: () => reread('timeSeries') },
    { enabled: refresh === 'live' },
  )
  const hasAlerts = definition.widgets.some(({ kind }) => kind === 'alerts') && may('alert:read')
  useRefresh([{ topic: 'alerts' }], ['alerts'], { enabled: refresh === 'live' && hasAlerts })
  const shown = refresh === 'live' && topics.length > 0 ? state : undefined
  useEffect(() => onLiveState?.(shown), [shown, onLiveState])

  const known = JSON.stringify([...applications.byId])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `known` stands for the applications
  const value = useMemo((): DashboardState => {
    const { variables = [] } = definition
    const timeOf = (reference: string | undefined) => values[timeVariableOf(variables, reference)] || timeDefault
    return {
      hasVariable: (kind) => variables.some((variable) => variable.kind === kind),
      chosen: (kind, reference) => resolved(variables, values, kind, reference),
      timeOf,
      periodOf: (reference) => periodOfText(timeOf(reference), now),
      applicationOf: (endpointId) => {
        const name = applications.byId.get(endpointId)
        if (name !== undefined) return { kind: 'known', name }
        return { kind: applications.isLoading ? 'loading' : 'missing' }
      },
      refreshMs: refreshMs[refresh],
      zoom: (reference, period) => onTime(timeVariableOf(variables, reference), chosenOf(period)),
    }
  }, [definition.variables, values, now, known, applications.isLoading, refresh, onTime])
  return (
    <LivePointsContext value={live}>
      <Context value={value}>{children}</Context>
    </LivePointsContext>
  )
}

/**
 * Returns the current time. While `isOn` is true, the time is updated every ten seconds. All widgets use this time, so they request the
 * same period.
 */
function useTicking(isOn: boolean): number {
  const [now, setNow] = useState(nowMs)
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => setNow(nowMs()), tickMs)
    return () => clearInterval(timer)
  }, [isOn])
  return now
}

/** Returns one live topic for each application, with the endpoints and series of all widgets. */
function topicsOf({ variables = [], widgets }: Definition, values: Values, byId: Map<string, string>): LiveTopic[] {
  const byApplication = new Map<string, { endpointIds: Set<string>; seriesNames: Set<string> }>()
  for (const { endpoint, timeSeries } of widgets.flatMap(seriesOfWidget)) {
    const endpointId = resolved(variables, values, 'endpoint', endpoint)
    const application = endpointId === undefined ? undefined : byId.get(endpointId)
    if (application === undefined || endpointId === undefined || timeSeries === '') continue
    const topic = byApplication.get(application) ?? { endpointIds: new Set(), seriesNames: new Set() }
    topic.endpointIds.add(endpointId)
    topic.seriesNames.add(timeSeries)
    byApplication.set(application, topic)
  }
  return [...byApplication].map(([applicationName, { endpointIds, seriesNames }]) => ({
    ...{ topic: 'series', applicationName },
    ...{ endpointIds: [...endpointIds].slice(0, namesMax), seriesNames: [...seriesNames].slice(0, namesMax) },
  }))
}
