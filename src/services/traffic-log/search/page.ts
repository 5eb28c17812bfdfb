import type { StoredRecord } from '../codec/columns.ts'
import type { RecordFilter } from './filter.ts'

export interface PageRequest {
  filter: RecordFilter
  descending: boolean
  offset: number
  limit: number
}

export interface Page {
  total: number
  records: StoredRecord[]
}
