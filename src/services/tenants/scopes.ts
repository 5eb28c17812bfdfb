import { heldBy, scopes } from '../../identity/contract.ts'
import { catalogues } from './catalogues.ts'

const actions = ['create', 'read', 'update', 'delete']

export const tenantScopes = {
  'identity:tenant:read': heldBy.tenantAdmins,
  ...scopes('identity:tenant', ['create', 'update', 'delete'], heldBy.noOtherRole),
  ...scopes('platform:tenant', actions, heldBy.noOtherRole),
  ...Object.assign(
    {},
    ...catalogues.map(({ entity }) => scopes(`platform:tenant:${entity}`, actions, heldBy.noOtherRole)),
  ),
}
