/** Objects of every kind that the console shows, for the tests of its pages. */
import type { TestConsole } from './console.ts'

/** Ids that the platform generated. Each key is the name of a placeholder in the path of a page, such as `{ada}`. */
export type PageIds = Record<string, string>

/** Creates one object or more of each kind, and returns the generated ids. */
export async function makePageData(console_: TestConsole): Promise<PageIds> {
  const ids: PageIds = {}
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
  Object.assign(ids, await makeMoreData(console_, ids.rule))
  return ids
}

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
async function makeMoreData({ api, platform }: TestConsole, rule: string): Promise<PageIds> {
  const ids: PageIds = {}
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
    await fetch(`${platform.baseUrl}/bcx/api/v1/files/${name}`, {
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
  ids.replay = (await api(`POST /re/api/v1/rules/${rule}/replays`, replay)).body.replayId
  return ids
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
