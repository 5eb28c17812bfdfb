/** All pages of the console. A page consists of an entry in this list and a folder; console/README.md explains both. */
import type { ComponentType } from 'react'
import type { IconName } from '../parts/icons.tsx'
import type { PageProps } from './page-props.ts'

export const groups = ['', 'Fleet', 'Data', 'Control', 'Automation', 'Connect', 'People', 'Platform'] as const

export interface PageEntry {
  /** Path below `/console/<tenant>`: `/endpoints/:endpointId`. */
  path: string
  title: string
  load(): Promise<{ default: ComponentType<PageProps> }>
  /** Group in the navigation. A page without a group is reached only by links. */
  group?: (typeof groups)[number]
  icon?: IconName
  /** Scope that the page needs, on any resource. Of several scopes, one is sufficient. Without a scope, every caller may open the page. */
  scope?: string | readonly string[]
  /** Name of a parameter of the path that must be a number. */
  number?: string
  /** The page exists only in the console of this realm. A page without this field exists in all realms. */
  realm?: 'platform'
  /** Further words by which a search in the palette (Ctrl K) finds the page. */
  keywords?: string
}

const createApplication = ['tenant:application:create', 'platform:application:create']

const connectScopes = ['application:endpoint:create', 'endpoint:update']

const readCredentials = ['tenant:basic-credentials:read', 'tenant:x509-credentials:read']
const createCredentials = ['tenant:basic-credentials:create', 'tenant:x509-credentials:create']

const readLorawan = ['net-app-integration:read', 'net-account-integration:read']
const createLorawan = ['application:net-app-integration:create', 'tenant:net-account-integration:create']
const signInScopes = ['identity:realm:read', 'identity:client:read', 'identity:issuer:read']
const readStatus = 'platform:status:read'

export const pages: PageEntry[] = [
  { path: '/', title: 'Overview', group: '', icon: 'home', load: () => import('./overview/overview.tsx') },

  // Fleet
  {
    ...{ path: '/endpoints', title: 'Endpoints', group: 'Fleet', icon: 'cpu', scope: 'endpoint:read' },
    keywords: 'devices fleet register',
    load: () => import('./endpoints/list.tsx'),
  },
  {
    ...{ path: '/endpoints/new', title: 'New endpoint', scope: 'application:endpoint:create', icon: 'plus' },
    keywords: 'register device create',
    load: () => import('./endpoints/edit.tsx'),
  },
  {
    ...{ path: '/endpoints/:endpointId', title: 'Endpoint', scope: 'endpoint:read' },
    load: () => import('./endpoints/detail.tsx'),
  },
  {
    ...{ path: '/filters', title: 'Filters', group: 'Fleet', icon: 'filter' },
    ...{ scope: 'application:endpoint-filter:read', keywords: 'groups queries members' },
    load: () => import('./filters/list.tsx'),
  },
  {
    ...{ path: '/filters/:applicationName/new', title: 'New filter', scope: 'application:endpoint-filter:create' },
    load: () => import('./filters/edit.tsx'),
  },
  {
    ...{ path: '/filters/:applicationName/:filterId', title: 'Filter', scope: 'application:endpoint-filter:read' },
    load: () => import('./filters/detail.tsx'),
  },
  {
    ...{ path: '/filters/:applicationName/:filterId/edit', title: 'Edit filter' },
    ...{ scope: 'application:endpoint-filter:update' },
    load: () => import('./filters/edit.tsx'),
  },
  {
    ...{ path: '/map', title: 'Map', group: 'Fleet', icon: 'map', scope: 'endpoint:read' },
    keywords: 'places location world',
    load: () => import('./map/map.tsx'),
  },
  {
    ...{ path: '/assets', title: 'Assets', group: 'Fleet', icon: 'boxes', scope: 'asset:read' },
    keywords: 'types buildings machines relations',
    load: () => import('./assets/list.tsx'),
  },
  {
    ...{ path: '/assets/new', title: 'New asset', scope: 'asset-type:asset:create', icon: 'plus' },
    load: () => import('./assets/edit.tsx'),
  },
  {
    ...{ path: '/assets/types/new', title: 'New asset type', scope: 'tenant:asset-type:create', icon: 'plus' },
    load: () => import('./assets/type.tsx'),
  },
  {
    ...{ path: '/assets/types/:assetTypeId', title: 'Asset type', scope: 'asset-type:read' },
    load: () => import('./assets/type.tsx'),
  },
  { path: '/assets/:assetId', title: 'Asset', scope: 'asset:read', load: () => import('./assets/detail.tsx') },
  {
    ...{ path: '/jobs', title: 'Jobs', group: 'Fleet', icon: 'list' },
    keywords: 'bulk work progress exports',
    load: () => import('./jobs/list.tsx'),
  },
  { path: '/jobs/:jobId', title: 'Job', load: () => import('./jobs/detail.tsx') },

  // Data
  {
    ...{ path: '/explore', title: 'Explore', group: 'Data', icon: 'chart', scope: 'time-series:read' },
    keywords: 'charts series history csv',
    load: () => import('./explore/explore.tsx'),
  },
  {
    ...{ path: '/files', title: 'Files', group: 'Data', icon: 'file', scope: 'endpoint:read' },
    keywords: 'blobs binary data uploads downloads photos logs',
    load: () => import('./files/list.tsx'),
  },

  {
    ...{ path: '/dashboards', title: 'Dashboards', group: 'Data', icon: 'dashboard', scope: 'dashboard:read' },
    keywords: 'charts widgets wall boards',
    load: () => import('./dashboards/list.tsx'),
  },
  {
    ...{ path: '/dashboards/new', title: 'New dashboard', scope: 'tenant:dashboard:create', icon: 'plus' },
    load: () => import('./dashboards/edit.tsx'),
  },
  {
    ...{ path: '/dashboards/:dashboardId', title: 'Dashboard', scope: 'dashboard:read' },
    load: () => import('./dashboards/detail.tsx'),
  },
  {
    ...{ path: '/dashboards/:dashboardId/edit', title: 'Edit dashboard', scope: 'dashboard:update' },
    load: () => import('./dashboards/edit.tsx'),
  },
  {
    ...{ path: '/endpoints/:endpointId/dashboard', title: 'Dashboard of an endpoint', scope: 'endpoint:read' },
    load: () => import('./dashboards/template.tsx'),
  },

  // Control
  {
    ...{ path: '/commands', title: 'Commands', group: 'Control', icon: 'send' },
    scope: 'application:endpoint-command:read',
    keywords: 'send pending expired results',
    load: () => import('./commands/list.tsx'),
  },
  {
    ...{ path: '/configuration', title: 'Configuration', group: 'Control', icon: 'sliders' },
    scope: 'application:endpoint-config:read',
    keywords: 'settings defaults statuses',
    load: () => import('./configuration/page.tsx'),
  },
  {
    ...{ path: '/software', title: 'Software', group: 'Control', icon: 'package', scope: 'application:software:read' },
    keywords: 'firmware rollout update versions',
    load: () => import('./software/list.tsx'),
  },
  {
    ...{ path: '/software/:appName/new', title: 'New software version', scope: 'application:software:update' },
    load: () => import('./software/edit.tsx'),
  },
  {
    ...{ path: '/software/:appName/:softwareVersion/edit', title: 'Edit software version' },
    scope: 'application:software:update',
    load: () => import('./software/edit.tsx'),
  },
  {
    ...{ path: '/software/:appName/:softwareVersion', title: 'Software version', scope: 'application:software:read' },
    load: () => import('./software/detail.tsx'),
  },

  // Automation
  {
    ...{ path: '/rules', title: 'Rules', group: 'Automation', icon: 'zap', scope: 'rule:read' },
    keywords: 'scripts triggers actions traces dead letters snippets secrets replay',
    load: () => import('./rules/list.tsx'),
  },
  {
    ...{ path: '/rules/new', title: 'New rule', scope: 'tenant:rule:create', icon: 'plus' },
    load: () => import('./rules/edit.tsx'),
  },
  {
    ...{ path: '/rules/:ruleId/edit', title: 'Edit rule', scope: 'rule:update' },
    load: () => import('./rules/edit.tsx'),
  },
  {
    ...{ path: '/rules/snippets/new', title: 'New snippet', scope: 'tenant:snippet:create', icon: 'plus' },
    load: () => import('./rules/snippet-edit.tsx'),
  },
  {
    ...{ path: '/rules/snippets/:snippetId/edit', title: 'Edit snippet', scope: 'snippet:update' },
    load: () => import('./rules/snippet-edit.tsx'),
  },
  {
    ...{ path: '/rules/snippets/:snippetId', title: 'Snippet', scope: 'snippet:read' },
    load: () => import('./rules/snippet.tsx'),
  },
  { path: '/rules/:ruleId', title: 'Rule', scope: 'rule:read', load: () => import('./rules/detail.tsx') },
  {
    ...{ path: '/alerts', title: 'Alerts', group: 'Automation', icon: 'bell', scope: 'alert:read' },
    keywords: 'alarms severity acknowledge settings notices thresholds',
    load: () => import('./alerts/list.tsx'),
  },
  {
    ...{ path: '/alerts/settings/new', title: 'New alert setting', scope: 'tenant:alert-setting:create', icon: 'plus' },
    load: () => import('./alerts/setting-edit.tsx'),
  },
  {
    ...{ path: '/alerts/settings/:alertSettingId/edit', title: 'Edit alert setting', scope: 'alert-setting:update' },
    load: () => import('./alerts/setting-edit.tsx'),
  },
  {
    ...{ path: '/alerts/settings/:alertSettingId', title: 'Alert setting', scope: 'alert-setting:read' },
    load: () => import('./alerts/setting.tsx'),
  },
  { path: '/alerts/:alertId', title: 'Alert', scope: 'alert:read', load: () => import('./alerts/detail.tsx') },
  {
    ...{ path: '/pipelines', title: 'Pipelines', group: 'Automation', icon: 'fork', scope: 'application:read' },
    keywords: 'ingest processors documents search painless templates',
    load: () => import('./pipelines/list.tsx'),
  },
  {
    ...{ path: '/pipelines/new', title: 'New pipeline', scope: 'application:update', icon: 'plus' },
    load: () => import('./pipelines/edit.tsx'),
  },
  {
    ...{ path: '/pipelines/:pipelineId/edit', title: 'Edit pipeline', scope: 'application:update' },
    load: () => import('./pipelines/edit.tsx'),
  },
  {
    ...{ path: '/pipelines/:pipelineId', title: 'Pipeline', scope: 'application:read' },
    load: () => import('./pipelines/detail.tsx'),
  },

  // Connect
  {
    ...{ path: '/connect', title: 'Connect a device', group: 'Connect', icon: 'link', scope: connectScopes },
    keywords: 'first message mosquitto curl python node arduino token onboarding',
    load: () => import('./connect/page.tsx'),
  },
  {
    ...{ path: '/applications', title: 'Applications', group: 'Connect', icon: 'layers', scope: 'application:read' },
    keywords: 'versions models',
    load: () => import('./applications/list.tsx'),
  },
  {
    ...{ path: '/applications/new', title: 'New application', scope: createApplication, icon: 'plus' },
    load: () => import('./applications/edit.tsx'),
  },
  {
    ...{ path: '/applications/:appName/edit', title: 'Edit application', scope: 'application:update' },
    load: () => import('./applications/edit.tsx'),
  },
  {
    ...{ path: '/applications/:appName', title: 'Application', scope: 'application:read' },
    load: () => import('./applications/detail.tsx'),
  },

  {
    ...{ path: '/credentials', title: 'Credentials', group: 'Connect', icon: 'lock', scope: readCredentials },
    keywords: 'mqtt passwords certificates x509 tls devices',
    load: () => import('./credentials/list.tsx'),
  },
  {
    ...{ path: '/credentials/new', title: 'New credentials', scope: createCredentials, icon: 'plus' },
    load: () => import('./credentials/edit.tsx'),
  },
  {
    ...{ path: '/lorawan', title: 'LoRaWAN', group: 'Connect', icon: 'radio', scope: readLorawan },
    keywords: 'the things stack network gateways integrations',
    load: () => import('./lorawan/list.tsx'),
  },
  {
    ...{ path: '/lorawan/:kind/new', title: 'New LoRaWAN integration', scope: createLorawan },
    load: () => import('./lorawan/edit.tsx'),
  },
  {
    ...{ path: '/lorawan/:kind/:id/edit', number: 'id', title: 'Edit LoRaWAN integration', scope: readLorawan },
    load: () => import('./lorawan/edit.tsx'),
  },
  {
    ...{
      path: '/lorawan/applications/:id',
      number: 'id',
      title: 'LoRaWAN application',
      scope: 'net-app-integration:read',
    },
    load: () => import('./lorawan/application.tsx'),
  },
  {
    ...{ path: '/lorawan/accounts/:id', number: 'id', title: 'LoRaWAN account', scope: 'net-account-integration:read' },
    load: () => import('./lorawan/account.tsx'),
  },
  {
    ...{ path: '/vpn', title: 'VPN', group: 'Connect', icon: 'globe', scope: 'vpnclient:read' },
    keywords: 'openvpn tunnel remote access ssh',
    load: () => import('./vpn/list.tsx'),
  },
  {
    ...{ path: '/vpn/new', title: 'New VPN client', scope: 'vpnclient:create', icon: 'plus' },
    load: () => import('./vpn/edit.tsx'),
  },
  {
    ...{ path: '/vpn/:id', title: 'VPN client', scope: 'vpnclient:read' },
    load: () => import('./vpn/detail.tsx'),
  },

  // People
  {
    ...{ path: '/users', title: 'Users', group: 'People', icon: 'users', scope: 'identity:user:read' },
    keywords: 'people accounts passwords second factor',
    load: () => import('./users/list.tsx'),
  },
  {
    ...{ path: '/users/new', title: 'New user', scope: 'identity:user:create', icon: 'plus' },
    keywords: 'create person',
    load: () => import('./users/edit.tsx'),
  },
  {
    ...{ path: '/users/:id', title: 'User', scope: 'identity:user:read' },
    load: () => import('./users/detail.tsx'),
  },
  {
    ...{ path: '/roles', title: 'Roles and grants', group: 'People', icon: 'shield', scope: 'identity:role:read' },
    keywords: 'permissions scopes access who may',
    load: () => import('./roles/list.tsx'),
  },
  {
    ...{ path: '/roles/new', title: 'New role', scope: 'identity:role:create', icon: 'plus' },
    load: () => import('./roles/edit.tsx'),
  },
  {
    ...{ path: '/roles/:name/edit', title: 'Edit role', scope: 'identity:role:update' },
    load: () => import('./roles/edit.tsx'),
  },
  {
    ...{ path: '/roles/:name', title: 'Role', scope: 'identity:role:read' },
    load: () => import('./roles/detail.tsx'),
  },
  {
    ...{ path: '/api-keys', title: 'API keys', group: 'People', icon: 'key', scope: 'identity:api-key:read' },
    keywords: 'programs scripts tokens',
    load: () => import('./api-keys/list.tsx'),
  },
  {
    ...{ path: '/api-keys/new', title: 'New API key', scope: 'identity:api-key:create', icon: 'plus' },
    load: () => import('./api-keys/edit.tsx'),
  },
  {
    ...{ path: '/sign-in', title: 'Sign-in', group: 'People', icon: 'lock', scope: signInScopes },
    keywords: 'second factor clients secrets issuers single sign-on openid',
    load: () => import('./sign-in/list.tsx'),
  },
  {
    ...{ path: '/audit', title: 'Audit', group: 'People', icon: 'scroll', scope: 'tenant:audit:read' },
    keywords: 'log history changes logins who',
    load: () => import('./audit/list.tsx'),
  },
  {
    ...{ path: '/account', title: 'Your account', icon: 'user' },
    keywords: 'password sessions preferences theme time zone second factor profile',
    load: () => import('./account/account.tsx'),
  },

  // Platform
  {
    ...{ path: '/tenants', title: 'Tenants', group: 'Platform', icon: 'building', scope: 'identity:tenant:read' },
    ...{ realm: 'platform', keywords: 'customers packages quotas' },
    load: () => import('./tenants/list.tsx'),
  },
  {
    ...{ path: '/tenants/new', title: 'New tenant', scope: 'identity:tenant:create', icon: 'plus', realm: 'platform' },
    load: () => import('./tenants/edit.tsx'),
  },
  {
    ...{ path: '/tenants/:id', title: 'Tenant', scope: 'identity:tenant:read', realm: 'platform' },
    load: () => import('./tenants/detail.tsx'),
  },
  {
    ...{ path: '/platform/nodes', title: 'Nodes', group: 'Platform', icon: 'server', scope: readStatus },
    ...{ realm: 'platform', keywords: 'processes memory disk version' },
    load: () => import('./platform/nodes.tsx'),
  },
  {
    ...{ path: '/platform/database', title: 'Database', group: 'Platform', icon: 'database', scope: readStatus },
    ...{ realm: 'platform', keywords: 'postgresql queues jobs tables' },
    load: () => import('./platform/database.tsx'),
  },
  {
    ...{ path: '/platform/backups', title: 'Backups', group: 'Platform', icon: 'download', scope: readStatus },
    ...{ realm: 'platform', keywords: 'restore' },
    load: () => import('./platform/backups.tsx'),
  },
  {
    ...{ path: '/platform/settings', title: 'Settings', group: 'Platform', icon: 'sliders', scope: readStatus },
    ...{ realm: 'platform', keywords: 'configuration environment variables' },
    load: () => import('./platform/settings.tsx'),
  },
]
