import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether an object is missing, belongs to another tenant or is not readable for the caller.
export const NoAssetType = defineError<{ assetTypeId: string }>(
  'no_such_asset_type',
  404,
  'There is no asset type {assetTypeId}, or the caller may not read it',
)
export const NoAsset = defineError<{ assetId: string }>(
  'no_such_asset',
  404,
  'There is no asset {assetId}, or the caller may not read it',
)
export const NoEntity = defineError<{ entityType: string; entityId: string }>(
  'no_such_entity',
  404,
  'There is no {entityType} {entityId}, or the caller may not read it',
)
export const AssetTypeTaken = defineError<{ type: string }>(
  'asset_type_taken',
  409,
  'There is already an asset type {type}; choose another type',
)
export const AssetTypeInUse = defineError<{ assetTypeId: string }>(
  'asset_type_in_use',
  409,
  'Asset type {assetTypeId} has assets; delete them first',
)
