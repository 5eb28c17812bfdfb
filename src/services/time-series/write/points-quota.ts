/** Counts points of callers and rules towards the daily quota of the tenant. Points that the platform writes itself do not count. */
import type { DailyQuota } from '../../../kernel/daily-quota.ts'
import type { NewPoint, TimeSeries } from '../contract.ts'

/** Number of bytes that are counted for the time of a point, and for each value that is not a text. */
const numberBytes = 8

const bytesOf = ({ values }: NewPoint) => {
  let bytes = numberBytes
  for (const value of Object.values(values)) bytes += typeof value === 'string' ? Buffer.byteLength(value) : numberBytes
  return bytes
}

export const withinQuota =
  (quota: Pick<DailyQuota, 'requireSamples'>, putPoints: TimeSeries['putPoints']): TimeSeries['putPoints'] =>
  async (version, points) => {
    let bytes = 0
    for (const point of points) bytes += bytesOf(point)
    quota.requireSamples(version.tenantId, bytes)
    await putPoints(version, points)
  }
