/** Tests the whole platform over HTTPS, with a certificate of the certificate authority of the platform. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { client } from '../../test/harness/client.ts'
import { temporaryDirectory } from '../../test/harness/database.ts'
import { aDevice } from '../../test/harness/device.ts'
import { overHttps } from '../../test/harness/https.ts'
import { openInProcessPlatform } from '../../test/harness/in-process-platform.ts'
import { runCommand } from '../../test/harness/platform.ts'

test('with HTTPS, the platform issues its certificate, and issuer, tokens and MQTT over WebSocket use HTTPS', async () => {
  const { baseUrl, addresses, bootstrap } = await openInProcessPlatform({
    WAYPOST_HTTPS_PORT: '0',
    WAYPOST_HTTPS_HOSTS: 'iot.example.com',
    WAYPOST_HSTS_SECONDS: '60',
  })
  assert.equal(baseUrl, addresses.httpsUrl)
  const { text: ca } = await client(addresses.httpUrl!)('GET /kpc/api/v1/certificates/root')
  const { tenantId, backendClient } = bootstrap.default
  const realm = `${baseUrl}/auth/realms/${tenantId}`
  const discovery = await overHttps(`${realm}/.well-known/openid-configuration`, { ca })
  assert.equal(JSON.parse(discovery.text).issuer, realm)
  assert.equal(discovery.headers['strict-transport-security'], 'max-age=60')
  const token = await overHttps(`${realm}/protocol/openid-connect/token`, {
    ca,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: backendClient.id,
        client_secret: backendClient.secret,
      }),
    ),
  })
  assert.equal(token.status, 200, token.text)
  const authorization = `Bearer ${JSON.parse(token.text).access_token}`
  const listed = await overHttps(`${baseUrl}/api/v1/applications`, { ca, headers: { authorization } })
  assert.equal(listed.status, 200, listed.text)
  const device = await aDevice(`${baseUrl.replace('https:', 'wss:')}/mqtt`, { ca })
  assert.ok(device.client.connected)
})

test('the platform does not start with a redirect to HTTPS if HTTPS or its base URL is missing', async () => {
  const failing = async (environment: Record<string, string>) => {
    const { code, stderr } = await runCommand(['start'], { directory: temporaryDirectory(), environment })
    assert.notEqual(code, 0)
    return stderr
  }
  const redirect = { WAYPOST_HTTPS_REDIRECT: 'on' }
  assert.match(await failing(redirect), /WAYPOST_HTTPS_REDIRECT needs WAYPOST_HTTPS_PORT/)
  assert.match(
    await failing({ ...redirect, WAYPOST_HTTPS_PORT: '0', WAYPOST_BASE_URL: 'http://iot.example.com' }),
    /needs a WAYPOST_BASE_URL with https/,
  )
  assert.match(await failing({ WAYPOST_HTTPS_PORT: 'yes' }), /WAYPOST_HTTPS_PORT is "yes"; expected a port/)
})
