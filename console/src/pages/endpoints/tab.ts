import type { BodyOf, ItemOf } from '../../api/operation-types.ts'

export type Endpoint = BodyOf<'endpoints.get'>

/** Properties of every tab of an endpoint. */
export interface TabProps {
  endpoint: Endpoint
  /** The endpoint in the directory, which follows changes after some seconds; undefined until it is read. */
  entry: ItemOf<'endpoints.directory.list'> | undefined
  mayUpdate: boolean
  /** The resources whose grants count for this endpoint. */
  resources: string[]
}
