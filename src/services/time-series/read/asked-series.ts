/** What a reader is asked for, in numbers. */
export interface AskedSeries {
  name: string
  values: { seriesId: number; name: string }[]
}

export const idsOf = (series: AskedSeries[]) => series.flatMap(({ values }) => values.map(({ seriesId }) => seriesId))
