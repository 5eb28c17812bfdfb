/** Stores points of callers and services through the same writer as samples of devices. */

import { currentCause } from '../../../kernel/cause.ts'
import { newId } from '../../../kernel/ids.ts'
import { timeMax, timeMin } from '../../../kernel/times.ts'
import { seriesName, valueNameProblem } from '../configuration.ts'
import type { NewPoint } from '../contract.ts'
import { PointRejected } from '../errors.ts'
import { fieldOf } from '../numbers/field.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { autoPrefix, valueProblem } from './extract.ts'
import type { Origin } from './rows.ts'
import type { Writer } from './writer.ts'

interface Version {
  tenantId: string
  applicationName: string
  versionName: string
  cause?: string
}

export function createPutPoints({
  numbers,
  writer,
  isPublished,
}: {
  numbers: Numbers
  writer: Writer
  /** Returns whether a service handles the points of this endpoint. */
  isPublished(origin: Origin): boolean
}) {
  return async (version: Version, points: NewPoint[]): Promise<void> => {
    for (const point of points) requireValidPoint(point)
    // The names are sorted, because otherwise each order would create a set of its own.
    const nonEmpty = points
      .map((point) => ({ point, valueNames: Object.keys(point.values).sort() }))
      .filter(({ valueNames }) => valueNames.length > 0)
    if (nonEmpty.length === 0) return
    const endpointNos = new Map(await Promise.all(endpointNosOf(version, points, numbers)))
    const sets = await numbers.allSetsOf(
      version,
      nonEmpty.map(({ point, valueNames }) => valueNames.map((name) => fieldOf(point.seriesName, name))),
    )
    const message = { messageId: newId(), cause: version.cause ?? currentCause() }
    const originOf = (endpointId: string): Origin => {
      const origin = { ...version, endpointId }
      return isPublished(origin) ? { ...origin, ...message } : origin
    }
    const origins = new Map(Array.from(endpointNos.keys(), (endpointId) => [endpointId, originOf(endpointId)]))
    const isAnyPublished = [...origins.values()].some(({ messageId }) => messageId !== undefined)
    // Concurrent requests have no defined order, so `current` gets no endpoint id, which would make messages of an endpoint wait.
    const rows = writer.current(isAnyPublished ? 'published' : 'plain')
    for (const [index, { point, valueNames }] of nonEmpty.entries()) {
      const { endpointId, timestamp: at } = point
      const values = valueNames.map((name) => point.values[name]!)
      rows.add(endpointNos.get(endpointId)!, at, false, sets[index]!, values, origins.get(endpointId)!)
    }
    await writer.committed()
  }
}

/** Looks up all endpoints concurrently, so that the lookups of unknown endpoints share a statement. */
const endpointNosOf = (version: Version, points: NewPoint[], numbers: Numbers) =>
  [...new Set(points.map(({ endpointId }) => endpointId))].map(
    async (endpointId) => [endpointId, await numbers.endpointNo({ ...version, endpointId })] as const,
  )

function requireValidPoint({
  endpointId,
  seriesName: name,
  timestamp,
  values,
  requestPath = `${endpointId}.${name}`,
}: NewPoint) {
  const invalid = (below: string, problem: string) =>
    PointRejected({ point: requestPath + below, problem }, { fields: { [requestPath + below]: [problem] } })
  const bare = name.startsWith(autoPrefix) ? name.slice(autoPrefix.length) : name
  if (!seriesName.test(bare))
    throw invalid('', 'the name of a series must consist of letters, digits, dashes and underscores')
  if (!Number.isInteger(timestamp) || timestamp < timeMin || timestamp > timeMax)
    throw invalid('.timestamp', 'expected whole milliseconds between the years 1 and 9999')
  for (const [valueName, value] of Object.entries(values)) {
    const problem = valueNameProblem(valueName) ?? valueProblem(value, undefined)
    if (problem) throw invalid(`.values.${valueName}`, problem)
  }
}
