/** Package and usage of a tenant. */
import { useMay } from '../../api/me.ts'
import { useGet, useList } from '../../api/query.ts'
import { formatBytes, Meter } from '../../parts/amounts.tsx'
import { Card, Facts, Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { nowMs, utcOf } from '../../parts/time.tsx'
import { texts } from './texts.ts'

export function useUsage(tenantId: string) {
  const may = useMay()
  const usage = useGet('usage.get', { tenantId }, { enabled: may('tenant:usage:read'), refreshMs: 30_000 })
  const days = usage.data?.days ?? []
  return { ...usage, days, total: days.reduce((sum, day) => sum + bytesOf(day), 0) }
}

type Day = Record<'sampleBytes' | 'trafficLogBytes' | 'documentBytes' | 'traceBytes' | 'alertBytes', number>

const bytesOf = (day: Day) =>
  day.sampleBytes + day.trafficLogBytes + day.documentBytes + day.traceBytes + day.alertBytes

export function Usage({ tenantId }: { tenantId: string }) {
  const { data, days, isLoading, problem, reload } = useUsage(tenantId)
  const today = days.find(({ day }) => day === utcOf(nowMs()).slice(0, 10))
  const used = today ? bytesOf(today) : 0
  return (
    <Card title={texts.usage}>
      {isLoading && <Loading label={texts.usage} lines={3} />}
      {problem && <ErrorNote problem={problem} onRetry={() => void reload()} />}
      {data && (
        <div className="stack">
          <Meter label={texts.usageToday} value={used} max={data.bytesPerDay}>
            {data.bytesPerDay > 0
              ? texts.usageOf(formatBytes(used), formatBytes(data.bytesPerDay))
              : texts.noLimit(formatBytes(used))}
          </Meter>
          {days.length === 0 ? (
            <p className="quiet">{texts.usageEmpty}</p>
          ) : (
            <div className="scroll-x">
              <table className="plain-table">
                <caption className="visually-hidden">{texts.usageDays}</caption>
                <thead>
                  <tr>
                    <th scope="col">{texts.usageColumns.day}</th>
                    <th scope="col">{texts.usageColumns.samples}</th>
                    <th scope="col">{texts.usageColumns.traffic}</th>
                    <th scope="col">{texts.usageColumns.automation}</th>
                    <th scope="col">{texts.usageColumns.refused}</th>
                  </tr>
                </thead>
                <tbody>
                  {days.slice(0, 30).map((day) => (
                    <tr key={day.day}>
                      <th scope="row">{day.day}</th>
                      <td>{formatBytes(day.sampleBytes)}</td>
                      <td>{formatBytes(day.trafficLogBytes)}</td>
                      <td>{formatBytes(day.documentBytes + day.traceBytes + day.alertBytes)}</td>
                      <td>{texts.refused(day.refused)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </div>
      )}
    </Card>
  )
}

export function Package({ name }: { name: string | undefined }) {
  const list = useList('tenants.packageTypes.list', {})
  const found = list.items.find((type) => type.name === name)
  const orSettings = (value: number | undefined, shown: (value: number) => string) =>
    value ? shown(value) : <span className="quiet">{texts.ofSettings}</span>
  return (
    <Card title={texts.limits}>
      {list.isLoading && <Loading label={texts.limits} lines={3} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {!list.isLoading && !list.problem && !found && <p className="quiet">{texts.noPackage}</p>}
      {found && (
        <Facts
          items={[
            [texts.limitFacts.name, <Text key="name" value={found.name} />],
            [texts.limitFacts.storage, orSettings(found.disk_size, formatBytes)],
            [texts.limitFacts.traffic, orSettings(found.traffic, formatBytes)],
            [texts.limitFacts.requests, orSettings(found.requests_per_second, count)],
            [texts.limitFacts.devices, count(found.devices ?? 0)],
            [texts.limitFacts.applications, count(found.applications ?? 0)],
            [texts.limitFacts.description, <Text key="description" value={found.description} />],
          ]}
        />
      )}
    </Card>
  )
}
