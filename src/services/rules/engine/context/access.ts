import type { Caller } from '../../../../kernel/contract.ts'
import type { EndpointRef } from '../../../register/contract.ts'

/** The tenant, endpoint and permissions with which the functions in the context of a script act. */
export interface HostAccess {
  tenantId: string
  endpoint: EndpointRef | undefined
  /**
   * Returns the caller of the script's requests to the platform: the writer of the script with its current permissions, or the caller of an
   * evaluation, test run or replay.
   */
  caller(): Promise<Caller | undefined>
  /** False in evaluations, test runs and replays: their scripts cannot read secrets. */
  hasSecrets: boolean
  /** True in a test run or replay: only GET requests to the platform are sent. */
  isTry: boolean
  /** The chain and depth of runs that the script's requests to the platform cause (`causeOf` in chain.ts). */
  cause: string
  /** In an evaluation: endpoints that the request body lists as children. The script gets only endpoints that the caller may read. */
  children?: string[] | undefined
}
