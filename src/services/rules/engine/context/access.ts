import type { Caller } from '../../../../kernel/contract.ts'
import type { EndpointRef } from '../../../register/contract.ts'

/** The permissions of a script. */
export interface HostAccess {
  tenantId: string
  endpoint: EndpointRef | undefined
  /** Returns who calls the platform: the writer of the script with present permissions, or the caller of an evaluation. */
  caller(): Promise<Caller | undefined>
  /** False in evaluations and tries. */
  hasSecrets: boolean
  /** True in a try: only GET requests to the platform are sent. */
  isTry: boolean
  /** The run that requests to the platform belong to. */
  cause: string
  /** Endpoints given as children: evaluations. They are visible as far as the caller may read them. */
  children?: string[] | undefined
}
