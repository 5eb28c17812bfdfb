import type { Http } from '../../kernel/http/routes.ts'
import type { PeriodicTask } from '../../kernel/periodic.ts'

/** A part of this service. Parts are started in the order of index.ts and stopped in reverse. */
export interface Part {
  routes?(http: Http): void
  periodic?: PeriodicTask[]
  start?(): Promise<void>
  stop?(): Promise<void>
}
