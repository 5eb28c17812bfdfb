/** The scopes of all operations (document 3, 2.9; document 5, 5.14 to 5.17). */
import { heldBy, scopes } from '../../identity/contract.ts'
import { actionTypes, triggerTypes } from './model.ts'

const existing = ['read', 'update', 'delete']

/** Returns the scopes for one kind of object. The scope `create` applies to the tenant, all other scopes to the object itself. */
const library = (kind: string) => ({
  ...scopes(`tenant:${kind}`, ['create'], heldBy.tenantAdmins),
  ...scopes(kind, existing, heldBy.tenantAdmins),
})

export const rulesScopes: Record<string, readonly string[]> = {
  ...library('rule'),
  'rule:execute': heldBy.tenantAdmins,
  ...Object.assign({}, ...actionTypes.map((type) => library(`${type}-action`))),
  ...Object.assign({}, ...triggerTypes.map((type) => library(`${type}-trigger`))),
  'alert:read': heldBy.endpointReaders,
  'alert:update': heldBy.endpointAdmins,
  'alert:delete': heldBy.endpointAdmins,
  ...library('alert-setting'),
  ...library('snippet'),
  ...library('secret'),
}
