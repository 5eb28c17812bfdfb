/** A series that a query selects, with the numbers of its values. */
export interface SelectedSeries {
  name: string
  values: { seriesId: number; name: string }[]
}

export const idsOf = (series: SelectedSeries[]) =>
  series.flatMap(({ values }) => values.map(({ seriesId }) => seriesId))
