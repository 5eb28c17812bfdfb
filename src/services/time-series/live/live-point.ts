/** A stored point that is sent to live streams. Its JSON is built only once for all streams. */
import type { StoredPoint } from '../events.ts'

export interface LivePoint {
  endpointId: string
  seriesName: string
  /** Number of the point in the order of writes. */
  written: number
  /** The JSON `{"timestamp": …, "values": …}`, as in responses of `data`. */
  text: string
}

type PointContent = Pick<StoredPoint, 'endpointId' | 'seriesName' | 'timestamp' | 'values'>

export const livePoint = ({ endpointId, seriesName, timestamp, values }: PointContent, written: number): LivePoint => ({
  endpointId,
  seriesName,
  written,
  text: JSON.stringify({ timestamp, values }),
})

/** Estimates the memory that a queued point takes. */
export const bytesOf = ({ text }: LivePoint) => 150 + 2 * text.length

/** Builds `{endpointId: {series: [point]}}`, as in responses of `data`. */
export function textOf(points: LivePoint[]): string {
  const byEndpoint = new Map<string, Map<string, string[]>>()
  for (const { endpointId, seriesName, text } of points) {
    let bySeries = byEndpoint.get(endpointId)
    if (!bySeries) {
      bySeries = new Map()
      byEndpoint.set(endpointId, bySeries)
    }
    const texts = bySeries.get(seriesName)
    if (texts) texts.push(text)
    else bySeries.set(seriesName, [text])
  }
  const object = (entries: string[]) => `{${entries.join(',')}}`
  return object(
    [...byEndpoint].map(([endpointId, series]) => {
      const members = [...series].map(([name, texts]) => `${JSON.stringify(name)}:[${texts.join(',')}]`)
      return `${JSON.stringify(endpointId)}:${object(members)}`
    }),
  )
}
