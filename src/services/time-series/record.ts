/**
 * The column `samples.record` contains the endpoint number, time and values of a sample, each as a number of eight bytes. The column
 * repeats two other columns, so that a query reads only this column. Such a query takes 0.35 µs of database time for each sample, instead
 * of 0.6 µs with three columns.
 */

/** Number of entries before the values: the endpoint number and the time. */
export const recordHead = 2
export const numberBytes = 8
export const recordHeadBytes = recordHead * numberBytes

/** Returns the values. A value that is not a number is NaN. */
export function valuesInRecord(record: Buffer): number[] {
  const values: number[] = []
  for (let offset = recordHeadBytes; offset < record.length; offset += numberBytes)
    values.push(record.readDoubleBE(offset))
  return values
}
