/** A series that a query selects, with the id (`series_id`) of each of its values. */
export interface SelectedSeries {
  name: string
  values: { seriesId: number; name: string }[]
}

export const idsOf = (series: SelectedSeries[]) =>
  series.flatMap(({ values }) => values.map(({ seriesId }) => seriesId))
