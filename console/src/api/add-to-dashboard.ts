/** Adds a chart to a dashboard. Pages that show a chart, such as Explore, offer this. */
import { useState } from 'react'
import type { Problem } from '../parts/problem.ts'
import { useSession } from './client.ts'
import { useMay } from './me.ts'
import type { ArgumentsOf, BodyOf } from './operation-types.ts'
import { problemOf } from './problems.ts'
import { useChange, useList } from './query.ts'

type Input = ArgumentsOf<'dashboards.create'>['body']
type Widget = Input['definition']['widgets'][number]
type Dashboard = Extract<BodyOf<'dashboards.get'>, { definition: unknown }>
/** A chart without its position on the grid. */
export type NewChart = Omit<Extract<Widget, { kind: 'chart' }>, 'id' | 'x' | 'y' | 'width' | 'height'>

const size = { width: 24, height: 9 }
/** Maximum number of attempts to add a chart. An attempt fails if another caller changes the dashboard at the same time. */
const attemptsMax = 3

function withChart(widgets: readonly Widget[], chart: NewChart): Widget[] {
  const taken = new Set(widgets.map(({ id }) => id))
  let number = 1
  while (taken.has(`chart-${number}`)) number++
  const y = Math.max(0, ...widgets.map((widget) => widget.y + widget.height))
  return [...widgets, { ...chart, id: `chart-${number}`, x: 0, y, ...size }]
}

export interface AddToDashboard {
  /** False if the caller may neither change nor create a dashboard. */
  isOffered: boolean
  mayCreate: boolean
  dashboards: { value: string; label: string }[]
  search: string
  onSearch(text: string): void
  isBusy: boolean
  problem: Problem | undefined
  /**
   * Adds the chart to an existing dashboard, or to a new dashboard with this name. Returns the id of the dashboard, or undefined if the
   * change failed.
   */
  add(target: { dashboardId: string } | { name: string }, chart: NewChart): Promise<string | undefined>
}

export function useAddToDashboard({ enabled = true } = {}): AddToDashboard {
  const { client } = useSession()
  const may = useMay()
  const [search, onSearch] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const mayRead = may('dashboard:read')
  const list = useList(
    'dashboards.list',
    { limit: 200, ...(search.trim() !== '' && { search: search.trim() }) },
    { enabled: enabled && mayRead },
  )
  const create = useChange('dashboards.create', { also: ['me'] })
  const update = useChange('dashboards.update')

  async function addToNew(name: string, chart: NewChart) {
    const time = { name: 'time', kind: 'time' as const, value: 'P1D' }
    const outcome = await create.run({
      body: { name, definition: { variables: [time], widgets: withChart([], chart) } },
    })
    if (outcome.kind === 'done') return outcome.body.dashboardId
    if (outcome.kind === 'failed') setProblem(outcome.problem)
    return undefined
  }

  async function addToExisting(dashboardId: string, chart: NewChart) {
    for (let attempt = 1; ; attempt++) {
      const { body, etag } = await client.call('dashboards.get', { dashboardId })
      const { name, description, definition } = body as Dashboard
      const changed = { ...definition, widgets: withChart(definition.widgets, chart) }
      const input = { name, ...(description !== undefined && { description }), definition: changed }
      const outcome = await update.run({ dashboardId, body: input }, { ifMatch: etag })
      if (outcome.kind === 'done') return dashboardId
      if (outcome.kind === 'failed') setProblem(outcome.problem)
      if (outcome.kind === 'failed' || attempt === attemptsMax) return undefined
    }
  }

  return {
    isOffered: mayRead && (may('dashboard:update') || may('tenant:dashboard:create')),
    mayCreate: may('tenant:dashboard:create'),
    dashboards: list.items
      .filter(({ dashboardId }) => may('dashboard:update', `dashboard-${dashboardId}`))
      .map(({ dashboardId, name }) => ({ value: dashboardId, label: name })),
    ...{ search, onSearch, problem },
    isBusy: create.isRunning || update.isRunning,
    async add(target, chart) {
      setProblem(undefined)
      try {
        return await ('name' in target ? addToNew(target.name, chart) : addToExisting(target.dashboardId, chart))
      } catch (error) {
        setProblem(problemOf(error))
        return undefined
      }
    },
  }
}
