/** Composes the specification of a realm from catalogue entries. Throws UnusableTemplate for invalid entries. */
import type { RealmSpec, RoleSpec } from '../../identity/contract.ts'
import { UnusableTemplate } from './errors.ts'
import type { RealmParts } from './store/realm-parts.ts'
import type { Tenant } from './tenant.ts'

const platformRealm = 'platform'
const platformAdmin = 'platform-admin'

/**
 * The client ids if a template names none. They are also used if an id in a template is invalid: then the build fails, but the response of
 * the registration can still name the clients.
 */
const defaultClientIds = { frontendClientId: 'waypost-frontend', backendClientId: 'waypost-backend' }
const clientIdPattern = /^[\w.-]{1,255}$/

const isClientId = (value: unknown): value is string => typeof value === 'string' && clientIdPattern.test(value)

/** Returns the ids of the tenant's two clients. A registration needs them before the realm is built. */
export function clientIdsOf({ frontend, backend }: RealmParts) {
  const frontendClientId = frontend?.clientId ?? defaultClientIds.frontendClientId
  const backendClientId = backend?.clientId ?? defaultClientIds.backendClientId
  if (!isClientId(frontendClientId) || !isClientId(backendClientId) || frontendClientId === backendClientId)
    return defaultClientIds
  return { frontendClientId, backendClientId }
}

export function composeRealm(tenant: Tenant, parts: RealmParts, adminRole: string | undefined): RealmSpec {
  const realm = createTemplateReader(`realm template ${tenant.realmTemplateVersion}`, parts.realm)
  const frontend = createTemplateReader(`frontend client template ${tenant.clientFrontendVersion}`, parts.frontend)
  const backend = createTemplateReader(`backend client template ${tenant.clientBackendVersion}`, parts.backend)
  frontend.requireOtherClientId(tenant.clientBackendId)
  backend.requireOtherClientId(tenant.clientFrontendId)

  const isPlatform = tenant.tenantId === platformRealm
  const roles = rolesOf(parts, isPlatform)
  const roleNames = new Set(roles.map(({ name }) => name))
  const requireRole = (role: string, source: string) => {
    if (!roleNames.has(role))
      throw UnusableTemplate({ template: source, problem: `roles version ${tenant.rolesVersion} has no role ${role}` })
  }
  const backendRoles = backend.texts('serviceAccountRoles') ?? ['service']
  for (const role of backendRoles) requireRole(role, `backend client template ${tenant.clientBackendVersion}`)
  if (adminRole !== undefined) requireRole(adminRole, `user_roles ${tenant.userRoles}`)

  const loginTheme = tenant.loginTheme ?? realm.text('loginTheme')
  return {
    tenantId: tenant.tenantId,
    displayName: tenant.name,
    ...(loginTheme !== undefined && { loginTheme }),
    accessTokenSeconds: realm.seconds('accessTokenLifespan') ?? 300,
    refreshTokenSeconds: realm.seconds('ssoSessionIdleTimeout') ?? 1800,
    frontendClient: {
      id: tenant.clientFrontendId,
      redirectUris: frontend.texts('redirectUris') ?? [],
      webOrigins: frontend.texts('webOrigins') ?? [],
    },
    backendClient: {
      id: tenant.clientBackendId,
      // Document 4: the backend client of realm `platform` has every scope.
      roles: isPlatform && roleNames.has(platformAdmin) ? [...backendRoles, platformAdmin] : backendRoles,
    },
    roles,
    resources: parts.resources,
  }
}

/** Removes the roles and scopes on the platform, except in realm `platform`. */
const rolesOf = ({ roles }: RealmParts, isPlatform: boolean): RoleSpec[] =>
  roles
    .filter(({ heldOn }) => isPlatform || heldOn === 'tenant')
    .map(({ name, description, heldOn, scopes }) => ({
      name,
      ...(description !== null && { description }),
      on: heldOn,
      scopes: isPlatform ? scopes : scopes.filter((scope) => !/^(platform|kaa):/.test(scope)),
    }))

/** Reads fields of a template (named as in Keycloak). Each field is validated when it is read. */
function createTemplateReader(template: string, content: Record<string, unknown> | undefined) {
  const unusable = (problem: string) => UnusableTemplate({ template, problem })
  if (!content) throw unusable('it does not exist')
  const readField = <T>(field: string, expected: string, isValid: (value: unknown) => value is T): T | undefined => {
    const value = content[field]
    if (value === undefined || value === null) return undefined
    if (!isValid(value)) throw unusable(`${field}: expected ${expected}`)
    return value
  }
  const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 2000
  const isSeconds = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 31_536_000
  const isTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.length <= 100 && value.every(isText)
  return {
    text: (field: string) => readField(field, 'a string', isText),
    texts: (field: string) => readField(field, 'at most 100 strings', isTexts),
    seconds: (field: string) => readField(field, 'seconds from 1 to 31536000', isSeconds),
    requireOtherClientId(other: string) {
      const clientId = readField('clientId', `text that matches ${clientIdPattern.source}`, isClientId)
      if (clientId === other) throw unusable(`clientId: ${other} is the id of the other client already`)
    },
  }
}
