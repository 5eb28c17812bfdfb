/** Reports the places in stored samples to the register, for applications that configure a series for places. */
import type { Log } from '../../../kernel/log.ts'
import type { Register } from '../../register/contract.ts'
import { placeSeriesUnread } from '../log-messages.ts'
import { fieldOf } from '../numbers/field.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { SeriesSet } from '../store/numbers.ts'
import type { Rows } from './rows.ts'

type PlaceSeries = Exclude<Awaited<ReturnType<Register['placeSeriesOf']>>, undefined>

export function createPlaceReports(
  log: Log,
  register: Pick<Register, 'placeSeriesOf' | 'reportPlace'>,
  numbers: Pick<Numbers, 'fieldsOf'>,
): (rows: Rows) => void {
  function report(rows: Rows, row: number, series: PlaceSeries | undefined) {
    if (!series) return
    const indexes = indexesOf(numbers, rows.sets[row]!, series)
    if (!indexes) return
    const values = rows.values[row]!
    register.reportPlace({
      endpointId: rows.origins[row]!.endpointId,
      latitude: values[indexes.latitude],
      longitude: values[indexes.longitude],
      at: new Date(rows.times[row]!),
    })
  }

  return (rows) => {
    // Consecutive samples usually have the same version, so its configuration is looked up only once.
    let versionName: string | undefined
    let series: ReturnType<Register['placeSeriesOf']>
    for (let row = 0; row < rows.count; row++) {
      const origin = rows.origins[row]!
      if (origin.versionName !== versionName) {
        versionName = origin.versionName
        series = register.placeSeriesOf(origin)
      }
      if (series instanceof Promise) reportLater(rows, row, series)
      else if (series) report(rows, row, series)
    }
  }

  function reportLater(rows: Rows, row: number, series: Promise<PlaceSeries | undefined>) {
    series.then((found) => report(rows, row, found)).catch((err) => placeSeriesUnread(log, { err }))
  }
}

/**
 * Returns the indexes of latitude and longitude in a set. Latitude and longitude are in the same set, unless a sample has very many fields.
 */
function indexesOf(numbers: Pick<Numbers, 'fieldsOf'>, set: SeriesSet, { name, latitude, longitude }: PlaceSeries) {
  const fields = numbers.fieldsOf(set)
  const found = {
    latitude: fields.indexOf(fieldOf(name, latitude)),
    longitude: fields.indexOf(fieldOf(name, longitude)),
  }
  return found.latitude >= 0 && found.longitude >= 0 ? found : undefined
}
