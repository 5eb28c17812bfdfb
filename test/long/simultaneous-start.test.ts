/** Starts several nodes at the same time on one empty database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from '../harness/client.ts'
import { freshDatabase, temporaryDirectory } from '../harness/database.ts'
import { nodeDirectories, runCommand, startPlatform, usedDatabase } from '../harness/platform.ts'
import { databaseUrl } from '../harness/postgres-server.ts'

test('three nodes that start at the same time on an empty database form one platform', async () => {
  const environment = {
    WAYPOST_DATABASE_URL: await databaseUrl(await freshDatabase()),
    WAYPOST_MASTER_KEY: 'the same for all of the three nodes',
  }
  const nodes = await Promise.all(nodeDirectories(3).map((directory) => startPlatform({ directory, environment })))
  const [first, ...others] = nodes
  for (const { bootstrap } of others) assert.deepEqual(bootstrap, first!.bootstrap)
  for (const { managementUrl } of nodes)
    assert.equal((await client(managementUrl)('GET /health/ready')).body.status, 'ready')
  const ask = await first!.asService(first!.bootstrap.default)
  assert.equal((await ask('POST /api/v1/applications', { name: 'together' })).status, 201)
  for (const node of others) {
    const other = await node.asService(node.bootstrap.default)
    assert.equal((await other(`GET /api/v1/applications/together`)).status, 200)
  }
  assert.deepEqual(await Promise.all(nodes.map((node) => node.kill('SIGTERM'))), [0, 0, 0])
  for (const node of nodes) assert.doesNotMatch(node.output(), /"level":(50|60)/, node.output())
  const withLink = nodes.filter((node) => node.output().includes('/account/choose-password?token='))
  assert.equal(withLink.length, 1, 'exactly one node must print the link of the first start')
})

test('a node whose blob folder differs from the folder of the other nodes does not start, and its error names the setting', async () => {
  const { environment } = await usedDatabase()
  const first = await startPlatform({ directory: temporaryDirectory(), environment })
  const second = await runCommand(['start'], { directory: temporaryDirectory(), environment })
  assert.equal(second.code, 1)
  assert.match(second.stderr, /WAYPOST_S3_URL/)
  // While no other node runs, a node may start with a different blob folder.
  assert.equal(await first.kill('SIGTERM'), 0)
  const third = await startPlatform({ directory: temporaryDirectory(), environment })
  assert.equal(await third.kill('SIGTERM'), 0)
})
