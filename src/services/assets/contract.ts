import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. */
export type Assets = Record<never, never>
export const Assets = contract<Assets>('assets')

export const assetResourceName = (assetId: string) => `asset-${assetId}`
export const assetTypeResourceName = (assetTypeId: string) => `asset-type-${assetTypeId}`
