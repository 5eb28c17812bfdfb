/** Calls every operation as a caller of another tenant, as a caller without the scope, with invalid tokens, and without credentials. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWK,
  SignJWT,
  UnsecuredJWT,
} from 'jose'
import { sleep } from '../../src/kernel/clock.ts'
import { type Ask, bearer, client, tokenOf } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { uploadTokenOf } from '../harness/upload-token.ts'
import { type Shape, sampleOf } from './bad-input.ts'
import { inlinedDocument } from './document.ts'
import { createRulesOf, rulesUrls } from './isolated-rules.ts'
import { operations, ownOperations, type SpecifiedOperation, shapeOf } from './operations.ts'

interface Realm {
  tenantId: string
  pk: string
  token: string
  asService: Ask
}

/** Every name in the data of the owner contains this text. A response to another tenant must not contain it. */
const marker = 'isolated7'

let platform: RunningPlatform
let owner: Realm
let otherTenant: Realm
let withoutPermissions: Ask
let asPlatform: Ask
const parameters: Record<string, Record<string, string>> = {}
const invalidTokens: Record<string, string> = {}

async function aTenant(name: string): Promise<Realm> {
  const admin = { email: `${name}@example.org`, username: `${name}-admin`, first_name: 'A', last_name: 'B' }
  const created = await asPlatform('POST /tenant-manager/api/v2/tenants', { name, tenant_id: name, admin })
  assert.equal(created.status, 202, created.text)
  const pk = created.body.id
  await eventually(async () => {
    const tenant = await asPlatform(`GET /tenant-manager/api/v2/tenants/${pk}`)
    assert.equal(tenant.body.status, 'AVAILABLE', tenant.text)
  })
  const { body } = await asPlatform(`GET /tenant-manager/api/v2/tenants/${pk}/credentials`)
  const grant = {
    grant_type: 'client_credentials',
    client_id: body.client_backend_id,
    client_secret: body.client_backend_secret,
  }
  const token = await tokenOf(platform.baseUrl, name, grant)
  return { tenantId: name, pk, token, asService: client(platform.baseUrl, bearer(token)) }
}

async function create(ask: Ask, operation: string, body: unknown) {
  const answer = await ask(operation, body)
  assert.ok(answer.status === 201, `${operation}: ${answer.status} ${answer.text}`)
  return answer.body?.id ?? answer.headers.get('location')?.split('/').at(-1)
}

/** Creates one resource of each kind as the owner. The tests use the ids as path parameters. */
async function createResources() {
  const app = `${marker}-app`
  const { asService, tenantId, pk } = owner
  await create(asService, 'POST /api/v1/applications', { name: app })
  await create(asService, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  await create(asService, 'POST /iam/api/v1/roles', { name: `${marker}-role`, scopes: ['application:read'] })
  const user = await create(asService, 'POST /iam/api/v1/users', {
    username: `${marker}-user`,
    password: 'a long password 1',
  })
  const grant = await create(asService, 'POST /iam/api/v1/grants', {
    subject: { type: 'role', id: `${marker}-role` },
    resource: `application-${app}`,
    scopes: ['application:read'],
  })
  const key = await create(asService, 'POST /iam/api/v1/api-keys', { name: `${marker}-key` })
  const issuer = await create(asService, 'POST /iam/api/v1/issuers', {
    issuer: `https://${marker}.example.org`,
    audience: 'waypost',
  })
  const clients = await asService('GET /iam/api/v1/clients')
  const basic = await create(asService, 'POST /api/v1/basic-credentials', { username: `${marker}-device` })
  const certificate = await create(asService, 'POST /api/v1/x509-credentials', { commonName: `${marker}-device` })
  const epr = '/epr/api/v1'
  const endpointId = `${marker}-endpoint`
  const endpointToken = `${marker}-secret`
  await create(asService, `POST ${epr}/endpoints`, {
    appVersion: { name: `${app}-v1` },
    endpointId,
    endpointToken,
    metadata: { city: marker },
  })
  await sendSample(endpointToken, 200)
  await sendSample('wrong', 401)
  const filters = `${epr}/applications/${app}/filters`
  const query = { 'metadata.city': marker }
  const filterId = await create(asService, `POST ${filters}`, { name: `${marker}-filter`, documentQuery: query })
  await eventually(async () => {
    assert.equal((await asService(`GET ${filters}/${filterId}`)).body.status, 'active')
  })
  parameters['tenant-v1'] = { tenantId, id: '1' }
  parameters['tenant-v2'] = { tenant_pk: pk, pk: '1' }
  parameters.application = { appName: app, appVersionName: `${app}-v1`, serviceInstanceName: 'epts' }
  parameters.adx = parameters.application
  parameters.register = { applicationName: app, filterId, endpointId, key: 'city' }
  parameters.token = { endpointId, endpointTokenId: `${marker}-token` }
  parameters.gateway = { endpointId }
  const filename = `${marker}-file`
  const upload = {
    'x-auth-token': await uploadTokenOf(platform.baseUrl, { version: `${app}-v1`, token: endpointToken }),
  }
  const device = client(platform.baseUrl, upload)
  assert.equal((await device(`POST /bcx/api/v1/files/${filename}`, marker)).status, 204)
  const blobId = await create(device, `POST /bcx/api/v1/binary-data?name=${marker}`, marker)
  parameters.binary = { appName: app, endpointId, filename, blobId }
  await createCommands({ app, endpointId, filterId })
  await createSoftware({ app, endpointId, endpointToken })
  await createIntegrations(app)
  parameters.timeseries = { applicationName: app, appVersionName: `${app}-v1` }
  const ecr = '/ecr/api/v1'
  const version = `${app}-v1`
  for (const path of [`endpoints/${endpointId}/app-versions/${version}`, `app-versions/${version}`])
    assert.equal((await asService(`PUT ${ecr}/${path}`, { place: marker })).status, 200)
  const configId = await create(asService, `POST ${ecr}/system/endpoints/${endpointId}/configs`, {
    name: `${marker}-system`,
    config: `"${marker}"`,
  })
  parameters.configuration = { tenantId, appName: app, appVersionName: version, endpointId, filterId, configId }
  await createVpnClient(endpointId)
  await createAssets(endpointId)
  await createIngest(app, endpointToken)
  await createDashboards(version)
  await createJob(app)
  parameters.identity = { tenant_id: tenantId, name: `${marker}-role` }
  idByCollection = { users: user, grants: grant, 'api-keys': key, issuers: issuer, clients: clients.body.content[0].id }
  Object.assign(idByCollection, { 'basic-credentials': basic, 'x509-credentials': certificate })
  const frontend = (await asPlatform(`GET /tenant-manager/api/v2/tenants/${pk}/credentials`)).body.client_frontend_id
  const password = {
    grant_type: 'password',
    client_id: frontend,
    username: `${marker}-user`,
    password: 'a long password 1',
  }
  await signInWithoutPermissions(tenantId, password)
}
let idByCollection: Record<string, string> = {}

async function signInWithoutPermissions(tenantId: string, password: Record<string, string>) {
  const token = await tokenOf(platform.baseUrl, tenantId, password)
  withoutPermissions = client(platform.baseUrl, bearer(token))
  idByCollection.sessions = String(decodeJwt(token).sid)
}

/** Creates commands whose time to live is longer than the test. */
async function createCommands({ app, endpointId, filterId }: { app: string; endpointId: string; filterId: string }) {
  const { asService } = owner
  const ttl = 'commandTtl=86400000'
  const commands = `/cex/api/v1/endpoints/${endpointId}/commands/${marker}`
  const invoked = await asService(`POST ${commands}?awaitTimeout=0&${ttl}`, { place: marker })
  assert.equal(invoked.status, 202, invoked.text)
  const batch = await asService(`POST /cex/api/v1/endpoints/commands/${marker}/batch?filterId=${filterId}&${ttl}`)
  assert.equal(batch.status, 202, batch.text)
  await eventually(async () => {
    const path = `/cex/api/v1/endpoints/commands/batch/tasks/${batch.body.taskId}?appName=${app}`
    assert.ok((await asService(`GET ${path}`)).body.pending[0].commandId)
  })
  parameters.command = {
    endpointId,
    applicationName: app,
    commandType: marker,
    commandId: '1',
    id: batch.body.taskId,
    filterId,
  }
}

async function createSoftware({
  app,
  endpointId,
  endpointToken,
}: Record<'app' | 'endpointId' | 'endpointToken', string>) {
  const { asService } = owner
  const software = `/otao/api/v1/applications/${app}/software/1.0.0`
  await create(asService, `POST ${software}`, { rolloutStrategy: 'general', specification: { for: marker } })
  const file = { method: 'PUT', headers: bearer(owner.token), body: marker }
  assert.equal((await fetch(`${platform.baseUrl}${software}/file?filename=${marker}`, file)).status, 204)
  await reportSoftware(endpointToken)
  parameters.software = { appName: app, softwareVersion: '1.0.0', endpointId }
}

async function createVpnClient(endpointId: string) {
  const body = { name: `${marker}-vpn`, type: 'device', endpointId }
  const { status, text, body: created } = await owner.asService('POST /vpms/api/v1/vpnclient', body)
  assert.equal(status, 201, text)
  parameters.vpn = { vpnclientID: created.data.id }
}

/** Creates integrations with a LoRaWAN network, a device and a gateway. */
async function createIntegrations(app: string) {
  const network = {
    netUsername: `${marker}@ttn`,
    netApiKeyId: `${marker}-api-key`,
    netIdentityServerHost: `${marker}.example.org`,
    netMqttIntegrationEnabled: false,
    name: `${marker}-network`,
  }
  const { asService } = owner
  const appIntegrationId = await create(asService, 'POST /api/v1/integrations', { ...network, appName: app })
  const accountIntegrationId = await create(asService, 'POST /api/v1/account-integrations', network)
  const under = { appVersionName: `${app}-v1` }
  const devices = await asService(`POST /api/v1/integrations/${appIntegrationId}/devices`, {
    ...under,
    devices: [{ netDeviceId: `${marker}-device`, name: marker }],
  })
  const gateways = await asService(`POST /api/v1/account-integrations/${accountIntegrationId}/gateways`, {
    ...under,
    gateways: [{ netGatewayId: `${marker}-gateway`, name: marker }],
  })
  parameters.lorawan = {
    appIntegrationId,
    accountIntegrationId,
    deviceIntegrationId: devices.body.created[0].id,
    gatewayIntegrationId: gateways.body.created[0].id,
  }
}

/** Creates an asset type and an asset that contains the endpoint. */
async function createAssets(endpointId: string) {
  const { asService } = owner
  const am = '/am/api/v1'
  const assetTypeId = await create(asService, `POST ${am}/asset-types`, {
    displayName: `${marker}-type`,
    definitionJsonSchema: '{}',
  })
  const definition = JSON.stringify({ name: marker })
  const assetId = await create(asService, `POST ${am}/assets`, { assetTypeId, definition })
  const contained = { type: 'CONTAINS', from: { entityType: 'ASSET', entityId: assetId } }
  const to = { entityType: 'ENDPOINT', entityId: endpointId }
  assert.equal((await asService(`POST ${am}/relations/link`, { ...contained, to })).status, 204)
  parameters.assets = { assetTypeId, assetId }
}

/** Creates a job that the test never starts. */
async function createJob(applicationName: string) {
  const body = { select: { applicationName }, merge: { city: marker }, preview: true }
  const created = await owner.asService('POST /jobs/api/v1/jobs/metadata-patches', body)
  assert.ok(created.status < 300, created.text)
  parameters.jobs = { jobId: created.body.jobId }
  // This stream does not exist. The response is the same as for a stream of another caller.
  parameters.live = { streamId: crypto.randomUUID() }
}

/** Creates a dashboard and the dashboard template of an application version. */
async function createDashboards(appVersionName: string) {
  const { asService } = owner
  const root = '/dashboards/api/v1'
  const dashboard = { name: `${marker}-dashboard`, definition: { widgets: [] } }
  const created = await asService(`POST ${root}/dashboards`, dashboard)
  assert.equal(created.status, 201, created.text)
  assert.equal((await asService(`PUT ${root}/app-versions/${appVersionName}/template`, dashboard)).status, 200)
  parameters.dashboards = { dashboardId: created.body.dashboardId, version: '1', appVersionName }
}

/** Creates a pipeline, a template and a document. The pipeline has a name that every tenant may use. */
async function createIngest(app: string, endpointToken: string) {
  const { asService, tenantId } = owner
  const asf = '/asf/api/v1'
  const pipeline = { description: marker, processors: [] }
  assert.equal((await asService(`PUT ${asf}/_ingest/pipeline/pipe`, pipeline)).status, 200)
  const template = { mappings: { properties: { [marker]: { type: 'keyword' } } } }
  assert.equal((await asService(`PUT ${asf}/${tenantId}-${app}/_template`, template)).status, 200)
  await sendSample(endpointToken, 200)
  parameters.ingest = { tenantID: tenantId, applicationName: app, pipelineID: 'pipe' }
}

/** Sends a message as a device of the owner. Only the owner may see the message or its rejection. */
async function sendSample(token: string, status: number) {
  const url = `${platform.baseUrl}/kp1/${marker}-app-v1/dcx/${token}/json`
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ place: marker, [marker]: 7 }) })
  assert.equal(answer.status, status, await answer.text())
}

/** Reports a software version as a device of the owner. */
async function reportSoftware(token: string) {
  const url = `${platform.baseUrl}/kp1/${marker}-app-v1/cmx_ota/${token}/applied/json`
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ configId: '1.0.0', reasonPhrase: marker }) })
  assert.equal(answer.status, 200, await answer.text())
}

const urlOf = ({ service, path }: SpecifiedOperation) =>
  path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const collection = path.split('/').find((step) => idByCollection[step])
    const value =
      ['identity', 'credentials'].includes(service) && name === 'id'
        ? idByCollection[collection ?? '']
        : (parameters[service]?.[name] ?? parameters[service]?.[`${name} ${path.split('/')[5]}`])
    assert.ok(value, `no value for ${name} of ${path}`)
    return encodeURIComponent(value)
  })

async function makeInvalidTokens() {
  const realm = `${platform.baseUrl}/auth/realms/${owner.tenantId}`
  const claims = decodeJwt(owner.token)
  const { kid } = decodeProtectedHeader(owner.token)
  const { keys } = (await (await fetch(`${realm}/protocol/openid-connect/certs`)).json()) as { keys: JWK[] }
  const published = (await importJWK(keys[0]!, 'RS256', { extractable: true })) as CryptoKey
  const attackerKeys = await generateKeyPair('RS256')
  const header = { alg: 'RS256', typ: 'JWT', ...(kid && { kid }) }
  invalidTokens['alg none'] = new UnsecuredJWT(claims).encode()
  invalidTokens['HS256 with the public key'] = await new SignJWT(claims)
    .setProtectedHeader({ ...header, alg: 'HS256' })
    .sign(new TextEncoder().encode(await exportSPKI(published)))
  invalidTokens['a key of the attacker'] = await new SignJWT(claims)
    .setProtectedHeader(header)
    .sign(attackerKeys.privateKey)
  invalidTokens['the public key of the attacker in the header (jwk)'] = await new SignJWT(claims)
    .setProtectedHeader({ ...header, jwk: await exportJWK(attackerKeys.publicKey) })
    .sign(attackerKeys.privateKey)
  invalidTokens['another issuer'] = await new SignJWT({ ...claims, iss: 'https://evil.example' })
    .setProtectedHeader(header)
    .sign(attackerKeys.privateKey)
  const [head, , signature] = otherTenant.token.split('.')
  invalidTokens["another realm's signature"] = [head, owner.token.split('.')[1], signature].join('.')
  invalidTokens['a changed payload'] = owner.token.replace(
    /\.[^.]+\./,
    `.${Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')}.`,
  )
  invalidTokens['an expired token'] = await anExpiredToken()
  invalidTokens['a truncated token'] = owner.token.slice(0, -3)
  invalidTokens['not a JWT'] = 'x'
}

/** Creates a realm whose tokens are valid for one second, and returns an expired token of this realm. */
async function anExpiredToken(): Promise<string> {
  const template = await create(asPlatform, 'POST /api/v1/templates/realms', {
    template: { accessTokenLifespan: 1 },
    description: 'short',
  })
  const versions = {
    realm_scopes_version: 1,
    client_backend_version: 1,
    client_frontend_version: 1,
    roles_version: 1,
    resources_version: 1,
  }
  const body = { ...versions, user_roles: 1, idp_server: 1, package_type: 1, subscription_type: 'PERMANENT' }
  const answer = await asPlatform('POST /api/v1/tenants', {
    ...body,
    realm_name: 'shortlived',
    realm_template_version: template,
  })
  assert.equal(answer.status, 201, answer.text)
  const { client_backend_id: client_id, client_backend_secret: client_secret } = answer.body
  const grant = { grant_type: 'client_credentials', client_id, client_secret }
  const token = await eventually(() => tokenOf(platform.baseUrl, 'shortlived', grant))
  await sleep(1100 + (decodeJwt(token).exp! - decodeJwt(token).iat!) * 1000 - 1000)
  return token
}

before(async () => {
  platform = await startPlatform({ environment: { WAYPOST_LOG_LEVEL: 'error' } })
  asPlatform = await platform.asService(platform.bootstrap.platform)
  owner = await aTenant(marker)
  otherTenant = await aTenant('stranger')
  await createResources()
  const rulesOn = { marker, endpointId: `${marker}-endpoint`, app: `${marker}-app` }
  parameters.rules = await createRulesOf(owner.asService, create, rulesOn)
  await makeInvalidTokens()
  snapshot = await readAllOfOwner()
})

/** Precondition of the other tests: they could not detect a leak if the owner had no data. */
test('the owner sees the messages, samples and refusals of its devices', async () => {
  for (const path of ['endpoint-traffic', 'refusals'])
    await eventually(async () => {
      const { status, body, text } = await owner.asService(`GET /api/v1/al/${path}`)
      assert.equal(status, 200, text)
      assert.ok(body.totalElements > 0 && text.includes(marker), text)
    })
  const last = await owner.asService(`GET /epts/api/v1/applications/${marker}-app/time-series/last`)
  assert.deepEqual(Object.keys(last.body[`${marker}-endpoint`]), [`auto~${marker}`])
})

let snapshot: string[] = []
async function readAllOfOwner() {
  const urls = [
    ...rulesUrls,
    '/api/v1/applications',
    '/api/v1/app-configs/applications/isolated7-app',
    '/iam/api/v1/users',
    '/iam/api/v1/roles',
    '/iam/api/v1/grants',
    '/iam/api/v1/clients',
    '/iam/api/v1/issuers',
    '/api/v1/basic-credentials',
    '/api/v1/x509-credentials',
    '/epr/api/v1/endpoints?include=metadata,filters',
    '/epr/api/v1/applications/isolated7-app/filters',
    '/epts/api/v1/time-series/config',
    '/epts/api/v1/applications/isolated7-app/time-series/last?limit=100',
    '/ecr/api/v1/endpoints/isolated7-endpoint/app-versions/isolated7-app-v1/configurations',
    '/ecr/api/v1/app-versions/isolated7-app-v1/configurations',
    '/ecr/api/v1/statuses',
    '/ecr/api/v1/system/tenants/isolated7/configs',
    '/ecr/api/v1/system/applications/isolated7-app/configs',
    '/ecr/api/v1/system/app-versions/isolated7-app-v1/configs',
    '/ecr/api/v1/system/endpoints/isolated7-endpoint/configs',
    '/cex/api/v1/endpoints/commands/isolated7-app',
    '/cex/api/v1/endpoints/commands/batch/tasks?appName=isolated7-app',
    '/bcx/api/v1/applications/isolated7-app/files',
    '/otao/api/v1/applications/isolated7-app/software',
    '/otao/api/v1/applications/isolated7-app/software/endpoints',
    '/otao/api/v1/applications/isolated7-app/software/endpoints/isolated7-endpoint',
    '/otao/api/v1/applications/isolated7-app/software/1.0.0/file',
    '/api/v1/integrations',
    '/api/v1/account-integrations',
    `/api/v1/integrations/${parameters.lorawan!.appIntegrationId}/devices`,
    `/api/v1/account-integrations/${parameters.lorawan!.accountIntegrationId}/gateways`,
    '/bcx/api/v1/applications/isolated7-app/binary-data/list',
    '/vpms/api/v1/vpnclient',
    `/vpms/api/v1/vpnclient/${parameters.vpn!.vpnclientID}/config`,
    '/asf/api/v1/_ingest/pipeline',
    '/asf/api/v1/isolated7-isolated7-app/_template',
    '/asf/api/v1/isolated7-isolated7-app/_mapping',
    '/dashboards/api/v1/dashboards',
    '/dashboards/api/v1/app-versions/isolated7-app-v1/template',
    '/iam/api/v1/realm',
    '/am/api/v1/asset-types',
    '/am/api/v1/assets',
    '/am/api/v2/relations?entityIds=isolated7-endpoint',
    '/am/api/v1/relation-sessions?entityId=isolated7-endpoint',
    '/bcx/api/v1/applications/isolated7-app/endpoints/isolated7-endpoint/files/isolated7-file',
  ]
  const answers = await Promise.all(urls.map((url) => owner.asService(`GET ${url}`)))
  for (const answer of answers) assert.equal(answer.status, 200)
  const tenant = await asPlatform(`GET /api/v1/tenants/${owner.tenantId}`)
  return [...answers, tenant].map(({ text }, index) => `${urls[index] ?? 'tenant'} ${text}`)
}

const document = await inlinedDocument('http://waypost.test')
const bodies = new Map<string, unknown>()
for (const [path, item] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(item)) {
    const { requestBody } = operation as { requestBody?: { content: Record<string, { schema: Shape }> } }
    const shape = requestBody?.content['application/json']?.schema
    if (shape) bodies.set(`${method.toUpperCase()} ${shapeOf(path)}`, sampleOf(shape))
  }
const bodyOf = ({ method, path }: SpecifiedOperation) => bodies.get(`${method} ${shapeOf(path)}`)

/** Returns required query parameters; without them the request would be rejected before the permission check. */
const queryOf = ({ service, path }: SpecifiedOperation) => {
  // The other tenant sends names of the owner in this test, so the audit log of the other tenant contains them. The filter excludes these
  // records.
  if (path.endsWith('/audit/records')) return `?actor=${marker}-user`
  if (path.endsWith('/iam/api/v1/access')) return `?scope=endpoint:read&resource=endpoint-${marker}-endpoint`
  if (path.endsWith('/v2/relations')) return `?entityIds=${marker}-endpoint,${parameters.assets!.assetId}`
  if (/\/relation-(sessions|trees)$/.test(path)) return `?entityType=ENDPOINT&entityId=${marker}-endpoint`
  if (path.endsWith('/relations')) return '?relation=contains'
  const dates = 'fromDate=2026-01-01T00:00:00Z&toDate=2027-01-01T00:00:00Z'
  if (path.endsWith('/time-series/data')) return `?timeSeriesName=auto~${marker}&${dates}`
  if (service === 'command' && path.includes('/batch/tasks')) return `?appName=${marker}-app`
  if (service === 'command' && /\/(batch|by-filter)$/.test(path)) return `?filterId=${parameters.command!.filterId}`
  if (path.endsWith('/endpoints/commands')) return `?endpointId=${marker}-endpoint&commandTypes=${marker}`
  return path.endsWith('/binary-data') ? `?${dates}` : ''
}

/**
 * Returns whether the operation needs an access token. Uploads need an upload token instead; tests in src/services/binary-data cover them.
 */
const needsAccessToken = ({ scopes }: SpecifiedOperation) =>
  !scopes.includes('none') && !scopes.includes('X-Auth-Token')
const needsScope = ({ scopes }: SpecifiedOperation) => !scopes.includes('authenticated')
/**
 * Returns whether the path contains a name that every tenant may use: of a service instance, a server, a client of a realm or a pipeline.
 */
const isSameInEveryTenant = (path: string) => /\{serviceInstanceName\}|\{pk\}|\/clients\/|\{pipelineID\}/.test(path)
/** Returns whether the path names one resource of the owner. */
const namesOwnResource = ({ path }: SpecifiedOperation) => path.includes('{') && !isSameInEveryTenant(path)
/** Returns whether the scope is required on the tenant or the platform itself. */
const isOnTenantOrPlatform = ({ service, path, scopes }: SpecifiedOperation) =>
  service.startsWith('tenant-') ||
  (service === 'identity' && !path.includes('{')) ||
  scopes.some((scope) => scope.startsWith('platform:') || scope.startsWith('tenant:')) ||
  path.endsWith('tenant-configs') ||
  path.includes('/_ingest/')

/** Returns the response text without the names that were part of the request. */
const withoutSentNames = (text: string, operation: SpecifiedOperation) =>
  `${urlOf(operation)}${queryOf(operation)}`
    .split(/[/?&=]/)
    .filter((step) => step.includes(marker))
    .reduce((rest, step) => rest.replaceAll(decodeURIComponent(step), '…'), text)

for (const operation of [...operations.filter(needsAccessToken), ...ownOperations(document.paths)]) {
  const { service, method, path } = operation
  describe(`${service}: ${method} ${path}`, () => {
    const call = (ask: Ask) => ask(`${method} ${urlOf(operation)}${queryOf(operation)}`, bodyOf(operation))

    test('a call without credentials is answered with 401', async () =>
      assert.equal((await call(client(platform.baseUrl))).status, 401))

    test('a call with an invalid token is answered with 401', async () => {
      const check = async ([name, token]: [string, string]) => {
        const answer = await call(client(platform.baseUrl, bearer(token)))
        assert.equal(answer.status, 401, `${name}: ${answer.status} ${answer.text}`)
        assert.ok(!answer.text.includes(marker), name)
      }
      await Promise.all(Object.entries(invalidTokens).map(check))
    })

    test('another tenant cannot see or change data of the owner', async () => {
      const answer = await call(otherTenant.asService)
      assert.ok(answer.status < 500, answer.text)
      assert.ok(!withoutSentNames(answer.text, operation).includes(marker), answer.text)
      if (!namesOwnResource(operation)) return
      const isOfUsers = path.includes('/me/')
      const expected = service === 'tenant-v1' ? [403] : service === 'tenant-v2' || isOfUsers ? [403, 404] : [404]
      assert.ok(expected.includes(answer.status), `${answer.status} ${answer.text}`)
    })

    if (needsScope(operation))
      test('a call without the scope is answered with 403 on the tenant or platform and with 404 on a resource, and a list contains no data of the owner', async () => {
        const answer = await call(withoutPermissions)
        if (isOnTenantOrPlatform(operation)) assert.equal(answer.status, 403, answer.text)
        else if (path.includes('{')) assert.equal(answer.status, 404, answer.text)
        else {
          // A job that this caller has created contains the name of the caller.
          const text = withoutSentNames(answer.text, operation).replaceAll(`${marker}-user`, '…')
          assert.ok(!text.includes(marker), answer.text)
        }
      })
  })
}

test('the calls of the other tenant have changed no data of the owner', async () => {
  for (const [index, text] of (await readAllOfOwner()).entries()) assert.equal(text, snapshot[index])
})

test('the responses for a missing resource and for a resource of another tenant are identical', async () => {
  for (const [one, other] of [
    ['/api/v1/applications/isolated7-app', '/api/v1/applications/isolated7-not'],
    [`/iam/api/v1/users/${idByCollection.users}`, '/iam/api/v1/users/00000000-0000-4000-8000-000000000000'],
  ]) {
    const [hidden, missing] = [await otherTenant.asService(`GET ${one}`), await otherTenant.asService(`GET ${other}`)]
    const blank = (text: string, url: string) => text.replaceAll(url.split('/').at(-1)!, '…')
    assert.equal(hidden.status, 404)
    assert.equal(blank(hidden.text, one!), blank(missing.text, other!))
  }
})
