/**
 * Tests every page of the console: its heading, its accessibility in the light and dark themes, its layout at 320 pixels, and that it
 * causes no error and no request to another host.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  checkAccessibility,
  checkNarrow,
  checkTimes,
  openConsole,
  settled,
  type TestConsole,
  takePictures,
  takesPictures,
} from '../harness/console.ts'
import { checkOverlays } from '../harness/overlays.ts'
import { makeFleet } from '../harness/picture-data.ts'

let console_: TestConsole
let page: Page

before(async () => {
  console_ = await openConsole()
  // 409: the test of menus and dialogs rejects all changes. 502: the LoRaWAN network of the test does not exist.
  console_.expect(/status of (?:409|502)/)
  const { api } = console_
  await api('POST /api/v1/applications', { name: 'meters', displayName: 'Meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', {
    endpointId: 'meter-1',
    appVersion: { name: 'meters-v1' },
    metadata: { name: 'North gate', location: { lat: 48.2, lon: 16.4 } },
  })
  const ada = { username: 'ada', firstName: 'Ada', lastName: 'Lovelace', roles: ['endpoint-reader'] }
  ids.ada = (await api('POST /iam/api/v1/users', ada)).body.id
  await api('POST /api/v1/basic-credentials', { username: 'gateway-1' })
  await api('POST /api/v1/x509-credentials', { commonName: 'pump-1', ttl: 86_400 })
  ids.vpn = (await api('POST /vpms/api/v1/vpnclient', { name: 'gateway-1', type: 'device' })).body.data.id
  ids.lorawan = (await api('POST /api/v1/integrations', lorawan)).body.id
  const expression = 'return ctx.trigger.cron !== undefined'
  const created = await api('POST /re/api/v1/rules', { name: 'Too hot', expression })
  ids.rule = created.headers.get('location')!.split('/').at(-1)!
  await api(`POST /re/api/v1/rules/${ids.rule}/execute`, {})
  await api('POST /cex/api/v1/endpoints/meter-1/commands/reboot?awaitTimeout=0&commandTtl=60000', { delay: 5 })
  await api('POST /otao/api/v1/applications/meters/software/1.0.0', { rolloutStrategy: 'general' })
  const boards = await api('POST /dashboards/api/v1/dashboards', dashboard)
  ids.dashboard = boards.body.dashboardId
  await api('PUT /dashboards/api/v1/app-versions/meters-v1/template', dashboard)
  await api('PUT /epts/api/v1/app-versions/meters-v1/time-series/data', {
    'meter-1': { 'auto~power': points((at) => 140 + 60 * Math.sin(at / 9) + 6 * Math.sin(at)) },
  })
  await makeData(api)
  if (takesPictures) await makeFleet(console_)
  page = await console_.open('/')
})

/** Returns a point for every five minutes of the last six hours. */
const points = (valueAt: (at: number) => number) =>
  Array.from({ length: 72 }, (_, at) => ({
    timestamp: new Date(Date.now() - (72 - at) * 300_000).toISOString(),
    values: { value: Math.round(valueAt(at) * 10) / 10 },
  }))

const power = { endpoint: '$meter', timeSeries: 'auto~power' }
const dashboard = {
  name: 'Power',
  description: 'What the meters say.',
  definition: {
    variables: [
      { name: 'meter', kind: 'endpoint', label: 'Meter', value: 'meter-1' },
      { name: 'when', kind: 'time', value: 'PT6H' },
    ],
    widgets: [
      { kind: 'value', id: 'now', title: 'Now', x: 0, y: 0, width: 6, height: 4, unit: 'W', series: power },
      {
        ...{ kind: 'value', id: 'peak', title: 'Peak', x: 6, y: 0, width: 6, height: 4, unit: 'W', series: power },
        ...{ aggregate: 'max', thresholds: [{ from: 180, colour: 'red' }] },
      },
      {
        kind: 'command',
        id: 'reset',
        x: 12,
        y: 0,
        width: 6,
        height: 4,
        commandType: 'reset',
        title: 'Reset the meter',
      },
      {
        kind: 'text',
        id: 'notes',
        x: 18,
        y: 0,
        width: 6,
        height: 4,
        text: '## Notes\n\n- **North gate**: counts *both* tariffs',
      },
      {
        ...{ kind: 'chart', id: 'power', title: 'Power', x: 0, y: 4, width: 16, height: 8, unit: 'W', style: 'area' },
        ...{ series: [power], thresholds: [{ from: 180, colour: 'red' }] },
      },
      { kind: 'alerts', id: 'alerts', x: 16, y: 4, width: 8, height: 8 },
      { kind: 'map', id: 'map', x: 0, y: 12, width: 12, height: 8 },
      {
        ...{ kind: 'table', id: 'meters', title: 'Meters', x: 12, y: 12, width: 12, height: 8 },
        columns: ['endpointId', 'metadata.name', 'connection', 'series:auto~power'],
      },
    ],
  },
}

/** Creates pipelines, documents, files, snippets, secrets and alert settings. */
async function makeData(api: TestConsole['api']) {
  const idOf = (answer: { headers: Headers }) => answer.headers.get('location')!.split('/').at(-1)!
  await api('PUT /asf/api/v1/_ingest/pipeline/to-fahrenheit', {
    description: 'Adds Fahrenheit, and marks what is hot',
    processors: [
      {
        script: {
          if: 'ctx.dataSample.celsius != null',
          source: 'ctx.dataSample.fahrenheit = ctx.dataSample.celsius * 1.8 + 32',
        },
      },
      { set: { tag: 'hot', if: 'ctx.dataSample.celsius > 90', field: 'hot', value: true } },
      { rename: { field: 'dataSample.t', target_field: 'dataSample.temperature', ignore_missing: true } },
    ],
    on_failure: [{ set: { field: 'reason', value: '{{_ingest.on_failure_message}}' } }],
  })
  await api('PUT /asf/api/v1/default-meters/_template', {
    settings: { index: { default_pipeline: 'to-fahrenheit', retention_days: 90 } },
  })
  const { token } = (await api('POST /bcx/api/v1/applications/meters/endpoints/meter-1/upload-tokens')).body
  for (const [name, content] of [
    ['night.log', '2026-01-01 00:00:00 all quiet\n'.repeat(40)],
    ['settings.json', '{"interval": 60}'],
  ] as const)
    await fetch(`${console_.platform.baseUrl}/bcx/api/v1/files/${name}`, {
      ...{ method: 'POST', body: content, headers: { 'x-auth-token': token } },
    })
  const code = "ctx.endpoint.getTimeSeries('auto~power').last().values.value"
  ids.snippet = idOf(await api('POST /re/api/v1/snippets', { name: 'Last power', code, description: 'In watts' }))
  await api('POST /re/api/v1/secrets', {
    name: 'weather-key',
    value: 'hush',
    description: 'Key of the weather service',
  })
  ids.setting = idOf(
    await api('POST /re/api/v1/alert-settings', {
      ...{ name: 'Power too high', alertType: 'HIGH_POWER', severityLevel: 'HIGH', appName: 'meters' },
      activationExpression: 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].power > 3000',
      ...{ message: 'The meter draws too much.', emailRecipients: ['ops@example.com'] },
    }),
  )
  const replay = { from: 'now-1h', to: 'now' }
  ids.replay = (await api(`POST /re/api/v1/rules/${ids.rule}/replays`, replay)).body.replayId
}

/** An integration whose host cannot be resolved. */
const lorawan = {
  appName: 'meters',
  name: 'The Things Stack',
  netUsername: 'meters@network',
  netIdentityServerHost: 'lorawan.invalid',
  netPlainMqttServerUrl: 'mqtts://lorawan.invalid',
  netApiKeyId: 'key',
}

/** Ids that the platform generated, by the name that a path uses: `{ada}`. */
const ids: Record<string, string> = {}

/** Path and heading of each page. Add a line for each page of the registry. */
const pages: [path: string, heading: string | RegExp][] = [
  ['/', 'Overview'],
  ['/endpoints', 'Endpoints'],
  ['/endpoints?q=nothing-like-this', 'Endpoints'],
  ['/endpoints?connection=never&activity=silent-1d&application=meters', 'Endpoints'],
  ['/endpoints/meter-1', 'North gate'],
  ['/endpoints/meter-1?tab=timeline', 'North gate'],
  ['/endpoints/meter-1?tab=metadata', 'North gate'],
  ['/endpoints/meter-1?tab=commands', 'North gate'],
  ['/endpoints/meter-1?tab=history', 'North gate'],
  ['/endpoints/meter-1?tab=configuration', 'North gate'],
  ['/endpoints/meter-1?tab=software', 'North gate'],
  ['/endpoints/meter-1?tab=files', 'North gate'],
  ['/endpoints/meter-1?tab=relations', 'North gate'],
  ['/endpoints/meter-1?tab=access', 'North gate'],
  ['/filters', 'Filters'],
  ['/filters/meters/new', 'New filter'],
  ['/map', 'Map'],
  ['/map?view=table', 'Map'],
  ['/jobs', 'Jobs'],
  ['/endpoints/new', 'New endpoint'],
  ['/explore', 'Explore'],
  ['/explore?application=meters&endpoints=meter-1&series=auto~power&compare=day', 'Explore'],
  ['/dashboards', 'Dashboards'],
  ['/dashboards?q=nothing-like-this&whose=nobody', 'Dashboards'],
  ['/dashboards/new', 'New dashboard'],
  ['/dashboards/{dashboard}', 'Power'],
  ['/dashboards/{dashboard}?refresh=never&var-colour=x', 'Power'],
  ['/dashboards/{dashboard}?tab=versions', 'Versions of Power'],
  ['/dashboards/{dashboard}/edit', 'Edit Power'],
  ['/endpoints/meter-1/dashboard', 'Dashboard of North gate'],
  ['/assets', 'Assets'],
  ['/assets?tab=types', 'Assets'],
  ['/assets?q=nothing-like-this', 'Assets'],
  ['/assets/new', 'New asset'],
  ['/assets/types/new', 'New type'],
  ['/commands', 'Commands'],
  ['/commands?application=meters&state=EXPIRED', 'Commands'],
  ['/configuration', 'Configuration'],
  ['/configuration?tab=statuses&status=FAILED', 'Configuration'],
  ['/configuration?tab=apply', 'Configuration'],
  ['/software', 'Software'],
  ['/software?tab=endpoints&state=failed', 'Software'],
  ['/software/meters/1.0.0', '1.0.0'],
  ['/software/meters/1.0.0/edit', 'Edit 1.0.0'],
  ['/software/meters/new', 'New software version'],
  ['/rules', 'Rules'],
  ['/rules?tab=runs', 'Rules'],
  ['/rules?tab=letters', 'Rules'],
  ['/rules?origin=setting', 'Rules'],
  ['/rules/new', 'New rule'],
  ['/rules/{rule}', 'Too hot'],
  ['/rules/{rule}?tab=try', 'Too hot'],
  ['/rules/{rule}?tab=runs', 'Too hot'],
  ['/rules/{rule}?tab=versions', 'Too hot'],
  ['/rules/{rule}/edit', /Edit/],
  ['/rules?tab=snippets', 'Rules'],
  ['/rules?tab=secrets', 'Rules'],
  ['/rules/snippets/new', 'New snippet'],
  ['/rules/snippets/{snippet}', 'Last power'],
  ['/rules/{rule}?tab=replay&replay={replay}', 'Too hot'],
  ['/alerts', 'Alerts'],
  ['/alerts?tab=settings', 'Alerts'],
  ['/alerts/settings/new', 'New alert setting'],
  ['/alerts/settings/{setting}', 'Power too high'],
  ['/pipelines', 'Pipelines'],
  ['/pipelines?tab=documents', 'Pipelines'],
  ['/pipelines/new', 'New pipeline'],
  ['/pipelines/to-fahrenheit', 'to-fahrenheit'],
  ['/pipelines/to-fahrenheit?tab=try', 'to-fahrenheit'],
  ['/files', 'Files'],
  ['/files?kind=blobs', 'Files'],
  ['/alerts?state=OPEN&severity=HIGH', 'Alerts'],
  ['/connect', 'Connect a device'],
  ['/connect?endpoint=meter-1&with=curl', 'Connect meter-1'],
  ['/applications', 'Applications'],
  ['/applications/meters', 'Meters'],
  ['/applications/meters/edit', /Edit/],
  ['/applications/new', 'New application'],
  ['/users', 'Users'],
  ['/users/new', 'New user'],
  ['/users/{ada}', 'Ada Lovelace'],
  ['/users/{ada}?tab=access', 'Ada Lovelace'],
  ['/users/{ada}?tab=activity', 'Ada Lovelace'],
  ['/roles', 'Roles and grants'],
  ['/roles?tab=grants', 'Roles and grants'],
  ['/roles?tab=who&scope=endpoint:read', 'Roles and grants'],
  ['/roles/new', 'New role'],
  ['/roles/endpoint-reader', 'endpoint-reader'],
  ['/api-keys', 'API keys'],
  ['/api-keys/new', 'New API key'],
  ['/credentials', 'Credentials'],
  ['/credentials?kind=x509', 'Credentials'],
  ['/credentials/new?kind=x509', 'New certificate'],
  ['/sign-in', 'Sign-in'],
  ['/audit', 'Audit log'],
  ['/account', 'Your account'],
  ['/vpn', 'VPN'],
  ['/vpn/new', 'New VPN client'],
  ['/vpn/{vpn}', 'gateway-1'],
  ['/lorawan', 'LoRaWAN'],
  ['/lorawan/applications/new', 'Link an application'],
  ['/lorawan/applications/{lorawan}', 'The Things Stack'],
]

/** Addresses that are wrong, or that a person may have as a bookmark. */
const typedAddresses: typeof pages = [
  ['/endpoints?sort=colour&page=x', 'Endpoints'],
  ['/endpoints/meter-1?tab=nothing', 'North gate'],
  ['/explore?aggregate=none-such&period=x', 'Explore'],
  ['/no/such/page', /no such page/],
  ['/endpoints/meter-1?tab=history', 'North gate'],
]

/** Opens an address within the console, as a link does. Loading the whole console for each page would take most of the time of the test. */
const follow = (address: string) => page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`)
const load = (address: string) => page.goto(address)

/** Leaves a page and opens it again, so that menus and dialogs that were opened on it are gone. */
async function reopen(open: () => Promise<void>) {
  await follow(console_.address('/account'))
  await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
  await open()
}

for (const [visit, list] of [
  [follow, pages],
  [load, typedAddresses],
] as const)
  for (const [path, heading] of list)
    test(`${visit === load ? 'loaded: ' : ''}${path} is accessible, fits a narrow screen, and has no errors`, async () => {
      const address = console_.address(path.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name])))
      const open = async () => {
        await visit(address)
        await page.getByRole('heading', { level: 1, name: heading }).waitFor()
        await settled(page)
      }
      await open()
      await checkAccessibility(page, path)
      await checkTimes(page, path)
      await checkNarrow(page, path)
      await takePictures(page, path)
      assert.deepEqual(console_.problems, [])
      if (visit === follow && !takesPictures) await checkOverlays({ page, name: path, openAgain: () => reopen(open) })
      assert.deepEqual(console_.problems, [])
    })
