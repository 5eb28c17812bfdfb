/** The state of the page of roles and grants, which is stored in its address. */
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'

export const tabIds = ['roles', 'grants', 'who'] as const

const addressKeys = {
  tab: oneOf(tabIds, 'roles'),
  q: text(),
  subject: oneOf(['', 'user', 'role', 'client', 'api-key'], ''),
  resource: text(),
  scope: text(),
}

export type RolesAddress = ReturnType<typeof useRolesAddress>
export const useRolesAddress = () => useAddressState(addressKeys)
