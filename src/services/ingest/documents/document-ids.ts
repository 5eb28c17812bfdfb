/**
 * Ids of documents. An id consists of the time of arrival, a counter and a random number of the process. Ids grow with time, so that new
 * rows are added at the end of the database index.
 */
import type { NewId } from '../../../kernel/ids.ts'

/** Returns an id as 32 hexadecimal digits. */
export type NewDocumentId = (arrivedAt: number) => string

const counterMax = 0xffffff

export function createDocumentIds(newId: NewId): NewDocumentId {
  const process = newId().replaceAll('-', '').slice(-14)
  let counter = 0
  return (arrivedAt) => {
    counter = counter === counterMax ? 0 : counter + 1
    return arrivedAt.toString(16).padStart(12, '0') + counter.toString(16).padStart(6, '0') + process
  }
}

/** Returns an id in the form of PostgreSQL's uuid. Searches return it as `_id`. */
export const idText = (hex: string) =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
