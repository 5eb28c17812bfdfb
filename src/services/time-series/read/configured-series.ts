/** Lists the series of an application: series in its configuration, and series that have stored points. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { visibleResources } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { timeSeriesInstance as instance, type TimeSeriesConfiguration } from '../configuration.ts'
import { findSeriesOf } from '../store/numbers.ts'
import { planOf } from '../write/extraction-plan.ts'

export interface SeriesNames {
  name: string
  values: string[]
}

export interface ConfiguredSeries {
  /**
   * Returns series by application. The result contains the named applications (or all applications) whose configuration the caller may
   * read.
   */
  list(ctx: Ctx, applicationNames: string[] | undefined): Promise<Record<string, SeriesNames[]>>
}

const applicationsPerPage = 200

export function createConfiguredSeries({ db, applications }: { db: Db; applications: Applications }): ConfiguredSeries {
  async function* pages(ctx: Ctx, names: string[] | undefined) {
    for (let after = ''; ; ) {
      const request = { tenantId: ctx.tenantId, instance, names, after, limit: applicationsPerPage }
      const page = await applications.configurationPage(request)
      if (page.length > 0) yield page
      if (page.length < applicationsPerPage) return
      after = page.at(-1)!.applicationName
    }
  }

  return {
    async list(ctx, requested) {
      const readable = visibleResources(ctx.caller, 'application:timeseries-config:read', ctx.tenantId, 'application-')
      const names = readable === 'all' ? requested : (requested?.filter((name) => readable.includes(name)) ?? readable)
      const byApplicationName = new Map<string, SeriesNames[]>()
      for await (const page of pages(ctx, names)) {
        const stored = await findSeriesOf(
          db.sql,
          ctx.tenantId,
          page.map(({ applicationName }) => applicationName),
        )
        const byApplication = Map.groupBy(stored, ({ applicationName }) => applicationName)
        for (const { applicationName, configurations } of page)
          byApplicationName.set(applicationName, seriesNames(configurations, byApplication.get(applicationName) ?? []))
      }
      // The result is built from a Map, because a plain object already has properties such as `constructor`.
      return Object.fromEntries(byApplicationName)
    },
  }
}

function seriesNames(configurations: TimeSeriesConfiguration[], stored: { name: string; valueName: string }[]) {
  const valuesByName = new Map<string, Set<string>>()
  const add = (name: string, valueName: string) => {
    const valueNames = valuesByName.get(name) ?? new Set()
    valuesByName.set(name, valueNames.add(valueName))
  }
  for (const configuration of configurations)
    for (const { name, values } of planOf(configuration).series) for (const one of values) add(name, one.name)
  for (const { name, valueName } of stored) add(name, valueName)
  return [...valuesByName]
    .map(([name, values]) => ({ name, values: [...values] }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
