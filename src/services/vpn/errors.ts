import { defineError } from '../../kernel/errors.ts'

// This error is the same for a client that does not exist, belongs to another tenant or is not readable for the caller, so that it does
// not reveal which clients exist.
export const NoVpnClient = defineError<{ vpnclientID: string }>(
  'no_such_vpn_client',
  404,
  'There is no VPN client {vpnclientID}, or the caller may not access it',
)
export const NoVpnProfile = defineError<{ vpnclientID: string }>(
  'no_vpn_profile',
  404,
  'The VPN client {vpnclientID} is revoked and has no configuration any more',
)
export const VpnClientRevoked = defineError<{ field: string }>(
  'vpn_client_revoked',
  400,
  '{field}: the VPN client is revoked and cannot be changed',
)
export const NoVpnAddress = defineError<{ type: string; subnet: string }>(
  'vpn_addresses_exhausted',
  409,
  'All addresses for VPN clients of type {type} in {subnet} are in use; revoke a client that is not needed',
)
export const NoVpnRange = defineError(
  'vpn_ranges_exhausted',
  409,
  'The network of the VPN has no range left for this tenant; the operator of the platform has to enlarge WAYPOST_VPN_NETWORK',
)
export const VpnRangeOutside = defineError<{ range: string }>(
  'vpn_range_outside',
  409,
  'The range {range} of this tenant is not in the network of the VPN any more; the operator of the platform has changed WAYPOST_VPN_NETWORK',
)
