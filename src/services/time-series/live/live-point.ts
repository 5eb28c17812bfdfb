/** A point on its way to those who watch: its text is made once, however many they are. */
import type { StoredPoint } from '../events.ts'

export interface LivePoint {
  endpointId: string
  seriesName: string
  /** Its place in the order of writes. */
  written: number
  /** `{"timestamp": …, "values": …}`, as the answers have it. */
  text: string
}

type Told = Pick<StoredPoint, 'endpointId' | 'seriesName' | 'timestamp' | 'values'>

export const livePoint = ({ endpointId, seriesName, timestamp, values }: Told, written: number): LivePoint => ({
  endpointId,
  seriesName,
  written,
  text: JSON.stringify({ timestamp, values }),
})

/** About what it takes while it waits. */
export const bytesOf = ({ text }: LivePoint) => 150 + 2 * text.length

/** `{endpointId: {series: [point]}}`, as in the answers of `data`. */
export function textOf(points: LivePoint[]): string {
  const byEndpoint = new Map<string, Map<string, string[]>>()
  for (const { endpointId, seriesName, text } of points) {
    let own = byEndpoint.get(endpointId)
    if (!own) {
      own = new Map()
      byEndpoint.set(endpointId, own)
    }
    const known = own.get(seriesName)
    if (known) known.push(text)
    else own.set(seriesName, [text])
  }
  const object = (entries: string[]) => `{${entries.join(',')}}`
  return object(
    [...byEndpoint].map(([endpointId, series]) => {
      const own = [...series].map(([name, texts]) => `${JSON.stringify(name)}:[${texts.join(',')}]`)
      return `${JSON.stringify(endpointId)}:${object(own)}`
    }),
  )
}
