/** Builds request bodies of `POST /api/v1/tenants`. */
let counter = 0
export const aTenantId = (prefix = 'tenant') => `${prefix}-${++counter}`

/** Returns a registration that refers to version 1 of each template and mapping. These versions are part of the platform. */
export const aRegistration = (fields: object = {}) => ({
  realm_name: aTenantId(),
  realm_template_version: 1,
  realm_scopes_version: 1,
  client_backend_version: 1,
  client_frontend_version: 1,
  roles_version: 1,
  resources_version: 1,
  user_roles: 1,
  idp_server: 1,
  package_type: 1,
  subscription_type: 'PERMANENT',
  ...fields,
})
