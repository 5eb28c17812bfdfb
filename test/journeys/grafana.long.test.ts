/** Sends the requests of the Grafana guide as the data source Infinity does. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createFixtures } from '../harness/gateway.ts'
import { filesOf } from '../harness/guide.ts'
import { openInProcessPlatform } from '../harness/in-process-platform.ts'

const files = new Map(filesOf('docs/guides/grafana.md').map(({ path, text }) => [path, text]))
const { ask, baseUrl } = await openInProcessPlatform()

interface Target {
  type: string
  url: string
  url_options: { method: string }
  columns: { selector: string; type: string }[]
}

test('the data source and the queries of the Grafana guide work', async () => {
  const guide = readFileSync(new URL('../../docs/guides/grafana.md', import.meta.url), 'utf8')
  const [, keyText] = /-d '(\{"name": "grafana".*\})'/.exec(guide)!
  const key = (await ask('POST /iam/api/v1/api-keys', JSON.parse(keyText!))).body.key
  const variables: Record<string, string> = { WAYPOST_URL: baseUrl, WAYPOST_API_KEY: key }
  const expanded = files
    .get('provisioning/datasources/waypost.yaml')!
    .replace(/\$([A-Z_]+)/g, (_, name: string) => variables[name]!)
  const settingOf = (name: string) => new RegExp(`^ +(?:- )?${name}: (.*)$`, 'm').exec(expanded)![1]!
  assert.deepEqual(['type', 'uid', 'auth_method', 'apiKeyType'].map(settingOf), [
    'yesoreyeram-infinity-datasource',
    'waypost',
    'apiKey',
    'header',
  ])
  const headers = { [settingOf('apiKeyKey')]: settingOf('apiKeyValue') }

  assert.equal((await ask('POST /api/v1/applications', { name: 'greenhouse' })).status, 201)
  const version = await ask('POST /api/v1/applications/greenhouse/app-versions', { nameSuffix: 'v1' })
  assert.equal(version.status, 201, version.text)
  const { token } = await createFixtures(ask).anEndpoint('greenhouse-v1')
  const samples = Array.from({ length: 180 }, (_, n) => ({
    timestamp: new Date(Date.now() - (n + 1) * 60_000).toISOString(),
    temperature: 20 + (n % 10),
  }))
  const sent = await fetch(`${baseUrl}/kp1/greenhouse-v1/dcx/${token}/json`, {
    method: 'POST',
    body: JSON.stringify(samples),
  })
  assert.equal(sent.status, 200)

  const times = { '${__from:date:iso}': new Date(Date.now() - 86_400_000), '${__to:date:iso}': new Date() }
  const dashboard = JSON.parse(files.get('provisioning/dashboards/greenhouse.json')!)
  const targets: Target[] = dashboard.panels.flatMap((panel: { targets: Target[] }) => panel.targets)
  assert.ok(
    dashboard.panels.every((panel: { datasource: object }) =>
      JSON.stringify(panel.datasource).includes(settingOf('uid')),
    ),
  )
  assert.match(files.get('provisioning/dashboards/provider.yaml')!, / path: \/etc\/grafana\/provisioning\/dashboards\n/)
  const counts: number[] = []
  for (const { type, url, url_options, columns } of targets) {
    assert.equal(type, 'csv')
    let address = settingOf('url') + url
    for (const [macro, time] of Object.entries(times)) address = address.replace(macro, time.toISOString())
    assert.ok(!address.includes('${'), address)
    const response = await fetch(address, { method: url_options.method, headers })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const [header, ...rows] = text
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','))
    for (const { selector, type } of columns) {
      const index = header!.indexOf(selector)
      assert.ok(index >= 0, `${selector} is not a column of ${header}`)
      const values = rows.map((row) => row[index]!)
      if (type === 'timestamp') assert.ok(values.every((value) => !Number.isNaN(Date.parse(value))))
      if (type === 'number')
        assert.ok(
          values.every((value) => Number(value) >= 20 && Number(value) < 30),
          values.join(),
        )
    }
    counts.push(rows.length)
  }
  assert.ok(counts[0]! >= 100 && counts[1]! >= 3 && counts[1]! <= 5, String(counts))
})
