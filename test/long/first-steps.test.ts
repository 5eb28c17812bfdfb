/** Runs the commands in the section "First steps" of the README, and in the guides, unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf, runAsWritten } from '../harness/documents.ts'
import { eventually } from '../harness/eventually.ts'
import { aMailServer } from '../harness/mail-server.ts'
import { startPlatform } from '../harness/platform.ts'

/** Asserts that the output matches the patterns one after the other. */
function assertInOrder(output: string, patterns: Record<string, RegExp>) {
  let rest = output
  for (const [section, pattern] of Object.entries(patterns)) {
    const found = rest.match(pattern)
    assert.ok(found, `${section}: ${pattern} is not in\n${rest}`)
    rest = rest.slice(found.index! + found[0].length)
  }
}

/** Expected output for each section in the guide to commands, in order. */
const commandsOutput = {
  invoke: /202 Accepted.*?location: \S+\/pump-1\/commands\/water\/1\s.*?"status":"PENDING"/is,
  poll: /\[\{"id":1,"payload":\{"litres":2\}\}\]\n/,
  result: /"status":"EXECUTED",.*?"statusCode":200,.*?"responsePayload":\{"watered":2\}/,
  wait: /HTTP\/1\.1 200 OK.*?\n"blinked"\n/s,
  expire: /202 Accepted.*?"commandId":1,"commandType":"water","endpointId":"pump-2","status":"EXPIRED"/s,
  last: /\{"commandId":1,"commandType":"water","endpointId":"pump-1","status":"EXECUTED"/,
  lastOfMany: /"commandType":"blink".*?"requestPayload":"twice".*?\{"endpointId":"pump-2","commands":\[\]\}/,
  batchPoll: /\[\{"id":2\}\]\n/,
  tasks: /"pendingCount":1,"executedCount":1,"expiredCount":0/,
  task: /"executed":\[\{"endpointId":"pump-2","commandId":2\}\],"expired":\[\],"pending":\[\{"endpointId":"pump-1"/,
  delete: /204 No Content/,
}

/** Expected output for each section in the guide to software, in order. */
const softwareOutput = {
  start: /\[\{"endpointId":"lamp-1",.*?"currentVersion":"1\.0\.0".*?"lamp-2".*?"lamp-3"/,
  create: /"version":"1\.1\.0".*?204 No Content/s,
  canary: /\{"endpointsCount":1,"byCurrentVersion":\{"1\.0\.0":1\},"sample":\["lamp-1"\]\}\n/,
  notOffered: /\{\}\n/,
  resumed: /206, 200000 more bytes\n/,
  applied: /"counts":\{"waiting":0,"offered":0,"applied":1,"failed":0\}/,
  preview: /"endpointsCount":2,.*?"sample":\["lamp-2","lamp-3"\]/,
  pause: /204 No Content.*?\n\{\}\n.*?204 No Content/s,
  halted: /"rolloutState":"halted","counts":\{.*?"applied":1,"failed":2\},.*?"reason":"2 of the 2 endpoints/,
  failed: /"endpointId":"lamp-2".*?"state":"failed".*?"endpointId":"lamp-3"/,
  downgrade: /\{"configId":"1\.0\.0"/,
  rolledBack: /"counts":\{"waiting":0,"offered":0,"applied":3,"failed":0\},"warnings":\[\]/,
  attempts: /"attempts":\[\{"version":"1\.0\.0".*?\{"version":"1\.1\.0"/,
}

/** Expected output for each section in the guide to the VPN, in order. */
const vpnOutput = {
  vpnClient: /"name":"router-1",.*?"ipAddress":"10\.80\.0\.2".*?"application":"greenhouse"/,
  vpnProfiles:
    /router-1\.ovpn:proto udp\nrouter-1\.ovpn:remote \S+ 1194\nrouter-1\.ovpn:remote-cert-tls server\nalice\.ovpn:proto tcp\n/,
  vpnServer: /"name":"alice".*?"count":2,"page":1,"pageSize":10,"server":\{"running":false,"problem":"No process runs/,
  vpnRevoked: /204 No Content.*?"state":"revoked"/s,
}

const errorsIn = (stdout: string) => stdout.split('\n').filter((line) => line.startsWith('{"message"'))

test('the commands of the README get a token, create an application and a tenant, and receive a message of a device', async () => {
  const { directory, asService, bootstrap } = await startPlatform()
  const documents = [
    'README.md',
    'docs/guides/first-device.md',
    'docs/guides/files.md',
    'docs/guides/configurations.md',
    'docs/guides/commands.md',
    'docs/guides/software.md',
    'docs/guides/vpn.md',
  ]
  const { status, stdout, stderr } = runAsWritten(documents.flatMap(commandsOf), { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  // The guide shows a configuration that is rejected because it violates its schema.
  assert.deepEqual(
    errorsIn(stdout).filter((line) => !line.includes('violates the schema')),
    [],
  )
  assert.match(stdout, /201 Created[\s\S]*201 Created[\s\S]*"greenhouse-v1"[\s\S]*202 Accepted/)
  assert.match(
    stdout,
    /200 OK[\s\S]*"totalElements":2,[\s\S]*21\.7[\s\S]*"transport":"mqtt"[\s\S]*21\.5[\s\S]*"transport":"http"/,
  )
  assert.match(stdout, /"totalElements":3,[\s\S]*21\.9[\s\S]*"transport":"mqtts"/)
  assert.match(
    stdout,
    /204 No Content[\s\S]*201 Created[\s\S]*"name":"night.log"[\s\S]*"name":"door"[\s\S]*"camera-1":\[/,
  )
  assert.match(stdout, /\nall quiet\n\nquiet\nall quiet\n\nHTTP\/1\.1 204/)
  const configured = stdout.slice(stdout.indexOf('"endpointId":"valve-1"'))
  assert.match(
    configured,
    /"config":"\{\\"interval\\":60\}"[\s\S]*interval\\":5\}[\s\S]*interval\\":5\}[\s\S]*interval\\":60\}/,
  )
  assert.match(configured, /\n\{"configId":"[^"]+","config":\{"interval":5\},"statusCode":200[\s\S]*"status":"APPLIED"/)
  assert.match(configured, /"totalElements":2,"totalPages":1[\s\S]*"endpointsCount":2/)
  assert.match(
    configured,
    /204 No Content[\s\S]*204 No Content[\s\S]*422 [\s\S]*"path":"\/interval"[\s\S]*204 No Content/,
  )
  assert.equal(stderr, '')
  assertInOrder(stdout.slice(stdout.indexOf('"endpointId":"pump-1"')), {
    ...commandsOutput,
    ...softwareOutput,
    ...vpnOutput,
  })
  const asPlatform = await asService(bootstrap.platform)
  await eventually(async () => {
    const { body } = await asPlatform('GET /tenant-manager/api/v2/tenants?tenant_id=acme')
    assert.equal(body.results[0].status, 'AVAILABLE')
  })
})

/** Expected output for each section in the guides, in order. */
const expectedOutput = {
  Register: /"endpointId":"gateway-1","token":"\w+".*?"endpointId":"thermo-1","token"/s,
  batch: /"createdCount":1,"failedCount":1,.*?"statusReason":"Endpoint thermo-1 already exists; choose another id"/s,
  Metadata: /"floor":3,"model":"T-1000"\}/,
  list: /"totalElements":3,.*?"metadata"/s,
  metadataFilter: /"totalElements":2,/,
  regex: /"totalElements":2,/,
  search: /"totalElements":2,"content":\[\{"endpointId":"thermo-1".*?"endpointId":"thermo-2"/s,
  relations: /\{"type":"contains","from":"gateway-1","to":"thermo-1"\}/,
  Group: /"status":"active".*?"totalElements":2,/s,
  Tokens: /201 Created.*?"status":"Inactive"\}.*?"totalElements":2,.*?"status":"Revoked"/s,
  credentials: /"username":"gateway-1".*?"password".*?client\.pem: OK/s,
  revocation: /Revoked Certificates:\s+Serial Number/,
  scripts: /"totalElements":2,.*?"name":"greenhouse"/s,
  'which series':
    /"greenhouse":\[\{"name":"auto~temperature","values":\["value"\]\},\{"name":"soil","values":\["moisture","ph"\]\}/,
  last: /"bed-1":\{"auto~temperature":\[\{"timestamp":"2026-06-01T11:00:00.000Z","values":\{"value":25\}\}\],"soil":\[/,
  beforeDate: /"values":\{"value":22\.5\}\},\{"timestamp":"2026-06-01T10:00:00.000Z"/,
  data: /\[\{"bed-1":\{"auto~temperature":\[.*?\],"soil":\[\{.*?"values":\{"moisture":31,"ph":6\.5\}\}/,
  DESC: /"soil":\[\{"timestamp":"2026-06-01T11:00:00.000Z"/,
  aggregate: /\{"timestamp":"2026-06-01T10:00:00.000Z","values":\{"value":22\}\}/,
  CSV: /timestamp,endpointId,series,moisture,ph,value\r\n2026-06-01T10:00:00.000Z,bed-1,auto~temperature,,,21\.5\r\n/,
  writing: /"note":\[\{"timestamp":"2026-06-01T12:00:00.000Z","values":\{"litres":3,"text":"watered"\}\}\]/,
  retention: /"name":"auto~temperature",.*?"unpacked":4/s,
}

/** Expected output for each section in the guide to assets, in order. */
const assetsOutput = {
  types: /"totalElements":2,.*?"type":"PLACE".*?"type":"MACHINE"/,
  created: /"definition":"\{\\"name\\": \\"Pump\\"/,
  violated: /HTTP\/1\.1 400 .*?"errors":\[\{"path":"\/serial"/s,
  patched: /"definition":"\{\\"name\\":\\"Pump\\",\\"serial\\":\\"PU-17\\",\\"hours\\":120\}"/,
  search: /"totalElements":1,.*?Boiler room/,
  list: /"totalElements":1,.*?PU-17/,
  relations: /"relationType":"MANAGES".*?"relationType":"IS_CONTAINED_BY"/,
  tree: /"name":"North building","children":\[.*?"name":"Boiler room","children":\[.*?"name":"Pump","children":\[.*?"name":"Pump meter"/,
  cycle: /to: this would create a cycle/,
  session: /\[\{"type":"MANAGES",.*?"startedAt":".*?","endedAt":"/,
}

/** Expected output for each section in the guide to pipelines, in order. */
const pipelinesOutput = {
  simulated: /\{"docs":\[\{"doc":.*?"fahrenheit":212.*?\{"error":\{"root_cause"/,
  stored: /\{"acknowledged":true\}\n\{"acknowledged":true\}/,
  template: /"default-greenhouse":\{"order":0,"index_patterns":\["default-greenhouse-\*"\]/,
  found: /"total":\{"value":1,"relation":"eq"\}.*?"_source":\{"hot":true,"dataSample":\{"celsius":100,"fahrenheit":212/,
  failed: /"total":\{"value":1,.*?"ingestError":\{"type":/,
  hours: /"aggregations":\{"hours":\{"buckets":\[.*?"warmest":\{"value":212\},"endpoints":\{"value":1\}/,
  mapping: /"default-greenhouse":\{"mappings":.*?"fahrenheit":\{"type":"(?:double|long)"\}/,
  statistics: /"direction":"INBOUND"/,
}

/** Expected output for each section in the guide to live streams, in order. */
const liveOutput = {
  watched: /event: open\ndata: \{"streamId":.*?event: subscribed.*?event: traffic\n.*?\\"temperature\\": 23/s,
  refused: /\{"message":"subscriptions\.0\.id/,
  since: /event: traffic\n(?:id: \d+\n)?data: \{"subscription":"in","items":\[\{"id":"\d+-i-.*?\\"temperature\\": 23/s,
  newest: /"subscription":"news","items":\[\{"id":"\d+-[io]-/,
  changed:
    /\{"streamId":"[^"]+","subscriptions":\["porch"\]\}.*?"subscription":"porch","items":\[.*?\\"temperature\\": 24/s,
  resumed: /(?=.*"topic":"connection","reason":"no_history")event: open.*?\\"temperature\\": 25/s,
}

/** Expected output for each section in the guide to dashboards, in order. */
const dashboardsOutput = {
  created: /HTTP\/1\.1 201 .*?etag: .*?"dashboardId":"[-0-9a-f]{36}","name":"Greenhouse","owner":\{/is,
  template: /"appVersionName":"greenhouse-v1",.*?"value":"palm-1"/s,
}

test('after the first steps, every command of the guides prints its expected output', async () => {
  const { directory } = await startPlatform()
  const guides = ['endpoints', 'time-series', 'assets', 'pipelines', 'live', 'dashboards'].flatMap((name) =>
    commandsOf(`docs/guides/${name}.md`),
  )
  const commands = [commandsOf('README.md')[0]!, ...guides]
  const { status, stdout, stderr } = runAsWritten(commands, { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  // The guides also show requests that are rejected: a wrong definition and a cycle of assets, and a wrong subscription.
  assert.deepEqual(
    errorsIn(stdout).filter((line) => !/violates the schema|would create a cycle|subscriptions/.test(line)),
    [],
  )
  assertInOrder(stdout, expectedOutput)
  assertInOrder(stdout.slice(stdout.indexOf('"endpointId":"pump-meter"')), assetsOutput)
  assertInOrder(stdout.slice(stdout.indexOf('"endpointId":"oven-1"')), pipelinesOutput)
  assertInOrder(stdout.slice(stdout.indexOf('"endpointId":"porch-1"')), liveOutput)
  assertInOrder(stdout.slice(stdout.indexOf('"endpointId":"palm-1"')), dashboardsOutput)
})

/** Expected output for each section in the guide to rules, in order. */
const rulesOutput = {
  create: /rule [-0-9a-f]{36}, trigger [-0-9a-f]{36}, actions [-0-9a-f]{36} and [-0-9a-f]{36}\n/,
  valueTypes: /"recipientsExpression":"LITERAL","subjectExpression":"SCRIPT","textExpression":"LITERAL"/,
  link: /204 No Content.*?\{"positiveActions":\[\{.*?"type":"ALERT_ACTIVATION".*?"type":"SEND_EMAIL"/s,
  alert: /"totalElements":1,.*?"alertType":"HIGH_TEMPERATURE".*?"state":"OPEN"/,
  traces: /"entityType":"RULE",.*?"outcome":"SUCCESS"/,
  hysteresis: /204 No Content.*?"totalElements":1,.*?"state":"OPEN".*?"totalElements":1,.*?"state":"RESOLVED"/s,
  versions: /"totalElements":2,.*?"version":2.*?"version":1/s,
  syntax: /\{"message":"expression: line 1, column \d+: /,
  try: /"returnedValue":"true",.*?"effects":\[.*?"alertType":"HIGH_TEMPERATURE".*?"Too hot: room-1"/,
  tryOther: /"returnedValue":"false",.*?"effects":\[.*?"alertType":"HIGH_TEMPERATURE"/,
  replay: /"eventsCount":3,.*?"differences":\[.*?"before".*?"now"/,
  schedule: /"totalElements":[1-9]\d*,.*?"triggerType":"CRON".*?204 No Content/s,
  setting: /"totalElements":1,.*?"alertType":"FROST".*?"state":"RESOLVED"/,
  parts: /"totalElements":2,.*?"name":"frost"/,
  end: /204 No Content.*?204 No Content/s,
}

test('the commands of the guide to rules open and resolve alerts, and e-mails are sent', async () => {
  const mail = await aMailServer()
  const { directory } = await startPlatform({ environment: { WAYPOST_SMTP_URL: mail.url } })
  const commands = [commandsOf('README.md')[0]!, ...commandsOf('docs/guides/rules.md')]
  const { status, stdout, stderr } = runAsWritten(commands, { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  assert.deepEqual(
    errorsIn(stdout).filter((line) => !line.includes('expression: line 1')),
    [],
  )
  assertInOrder(stdout, rulesOutput)
  const subjects = () => mail.mails.map(({ text }) => /^Subject: (.*)$/m.exec(text)![1]).sort()
  const expected = ['Alert: FROST (CRITICAL)', 'Resolved: FROST (CRITICAL)', 'Too hot: room-1']
  await eventually(() => assert.deepEqual(subjects(), expected), { withinMs: 40_000 })
})

/** Expected output for each section in the guide to webhooks, in order. */
const webhooksOutput = {
  forged: /\n401\n/,
  link: /204 No Content/,
  handled: /rejected\nhandled \{"door":"door-1","open":true\}\n/,
  trace: /"entityType":"WEBHOOK_ACTION".*?"outcome":"SUCCESS".*?"attempts":\[\{.*?ECONNREFUSED.*?"status":204/,
}

test('the commands of the guide to webhooks call a receiver that checks signatures, and repeat a call after the receiver was down', async () => {
  const { directory } = await startPlatform({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on' } })
  const commands = [commandsOf('README.md')[0]!, ...commandsOf('docs/guides/webhooks.md')]
  const { status, stdout, stderr } = runAsWritten(commands, { dataDirectory: directory })
  assert.equal(status, 0, stderr)
  assert.deepEqual(errorsIn(stdout), [])
  assertInOrder(stdout, webhooksOutput)
})
