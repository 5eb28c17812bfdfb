/** Points that people and rules write, through the same writer as those of devices. */
import type { NewPoint } from './contract.ts'
import { PointRefused } from './errors.ts'
import { autoPrefix, fieldOf, problemOfValue } from './extract.ts'
import type { Names } from './names.ts'
import type { Value } from './pack/chunk.ts'
import { seriesName, valueNameProblem } from './plan.ts'
import type { SeriesSet } from './store/names.ts'
import { timeMax, timeMin } from './times.ts'
import type { Writer } from './write/writer.ts'

interface Version {
  tenantId: string
  applicationName: string
  versionName: string
}

export function createPutPoints({ names, writer }: { names: Names; writer: Writer }) {
  return async (version: Version, points: NewPoint[]): Promise<void> => {
    const written = writer.stamp(points.length)
    const ready: { endpointNo: number; point: NewPoint; sets: SeriesSet[]; values: Value[] }[] = []
    for (const point of points) check(point)
    await Promise.all(numbersOf(version, points, names))
    for (const point of points) {
      // In one order, whatever that of the caller: fewer sets.
      const valueNames = Object.keys(point.values).sort()
      if (valueNames.length === 0) continue
      const endpointNo = await names.endpointNo({ ...version, endpointId: point.endpointId })
      const fields = valueNames.map((name) => fieldOf(point.seriesName, name))
      const sets = await names.setsOf(version, fields)
      ready.push({ endpointNo, point, sets, values: valueNames.map((name) => point.values[name]!) })
    }
    if (ready.length === 0) return
    const rows = writer.current()
    for (const [index, { endpointNo, point, sets, values }] of ready.entries()) {
      const origin = { ...version, endpointId: point.endpointId }
      if (sets.length === 1) rows.add(endpointNo, point.timestamp, written + index, sets[0]!, values, origin)
      else
        for (const [place, set] of sets.entries())
          rows.add(endpointNo, point.timestamp, written + index, set, [values[place]!], origin)
    }
    await writer.committed()
  }
}

/** All at once, so that those who are not known yet are asked for together. */
const numbersOf = (version: Version, points: NewPoint[], names: Names) =>
  [...new Set(points.map(({ endpointId }) => endpointId))].map((endpointId) =>
    names.endpointNo({ ...version, endpointId }),
  )

function check({ endpointId, seriesName: name, timestamp, values, place = `${endpointId}.${name}` }: NewPoint) {
  const wrong = (below: string, problem: string) =>
    PointRefused({ point: place + below, problem }, { fields: { [place + below]: [problem] } })
  const bare = name.startsWith(autoPrefix) ? name.slice(autoPrefix.length) : name
  if (!seriesName.test(bare)) throw wrong('', 'a name of a series has letters, digits, dash and underscore')
  if (!Number.isInteger(timestamp) || timestamp < timeMin || timestamp > timeMax)
    throw wrong('.timestamp', 'expected a time between the years 1 and 9999')
  for (const [valueName, value] of Object.entries(values)) {
    const problem = valueNameProblem(valueName) ?? problemOfValue(value, undefined)
    if (problem) throw wrong(`.values.${valueName}`, problem)
  }
}
