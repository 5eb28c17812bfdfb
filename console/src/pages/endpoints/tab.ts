import type { BodyOf, ItemOf } from '../../api/operation-types.ts'

export type Endpoint = BodyOf<'endpoints.get'>

/** Properties of every tab of an endpoint. */
export interface TabProps {
  endpoint: Endpoint
  /** The entry of the endpoint in the directory, which is updated some seconds after a change. It is undefined until it is read. */
  entry: ItemOf<'endpoints.directory.list'> | undefined
  mayUpdate: boolean
  /** The resources on which a grant gives permissions for this endpoint. */
  resources: string[]
}
