import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../test/harness/database.ts'
import { catalogue } from './assembly/catalogue.ts'
import { serviceSettings } from './assembly/settings.ts'
import { commandLineConfig } from './command-line-config.ts'
import { joinTables, loadConfig, readSettings, settingTables } from './config.ts'
import { ConfigurationError, defineSettings, type Setting } from './kernel/settings.ts'
import { applicationsSettings } from './services/applications/settings.ts'

test('settings that the environment does not set have their default values', () => {
  const config = loadConfig({})
  assert.equal(config.port, 8080)
  assert.equal(config.managementPort, 9090)
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.withoutAuthentication, 'none')
  assert.equal(config.read(applicationsSettings).generateApplicationNames, false)
  assert.equal(config.platform.allowPrivateAddresses, false)
  assert.match(config.dataDirectory, /\/data$/)
})

test('an unknown variable is an error that names the most similar setting', () => {
  for (const [given, nearest] of [
    ['WAYPOST_PROT', 'WAYPOST_PORT'],
    ['WAYPOST_DATABASE_URI', 'WAYPOST_DATABASE_URL'],
    ['WAYPOST_SMTP', 'WAYPOST_SMTP_URL'],
  ])
    assert.throws(() => loadConfig({ [given!]: 'x' }), new RegExp(`${given} is not a setting.*${nearest}`))
})

test('variables without the prefix WAYPOST_ are ignored', () => {
  loadConfig({ PATH: '/bin', WAYPOSTX: '1' })
})

test('a value of the wrong kind is rejected with the expected kind', () => {
  for (const [name, value, expected] of [
    ['PORT', '70000', 'a port'],
    ['PORT', 'http', 'a port'],
    ['PORT', '-1', 'a port'],
    ['ALLOW_PRIVATE_ADDRESSES', 'yes', 'on or off'],
    ['RATE_LIMIT_PER_ADDRESS', '1.5', 'a whole number'],
    ['RATE_LIMIT_PER_ADDRESS', '1000000000', 'a whole number from 0 to 999999999'],
    ['UPLOAD_TOKEN_TTL_SECONDS', '0', 'a whole number from 1'],
    ['WEBHOOK_TIMEOUT_SECONDS', '99999999', 'a whole number from 1 to 3600'],
    ['COMMAND_AWAIT_SECONDS', '999999999', 'a whole number from 1 to 86400'],
    ['TRACE_DAYS', '999999999', 'a whole number from 0 to 36500'],
    ['VPN_CERTIFICATE_DAYS', '999999999', 'a whole number from 0 to 36500'],
    ['DATABASE_CONNECTIONS', '1', 'a whole number from 2'],
    ['SMTP_URL', 'https://mail.example.com', 'smtp://host:port'],
    ['BASE_URL', 'nowhere', 'an address'],
    ['BASE_URL', 'javascript:x', 'an address'],
    ['BASE_URL', 'http://u:p@host', 'an address'],
    ['BASE_URL', 'http://host/?x', 'an address'],
    ['BASE_URL', 'ftp://host', 'an address'],
    ['LOG_LEVEL', 'loud', 'one of trace'],
    ['MASTER_KEY', 'short', 'at least 32 characters'],
    ['NEW_MASTER_KEY', 'short', 'at least 32 characters'],
    ['TRUST_PROXY', 'yes', 'the number of proxies in front'],
    ['TRUST_PROXY', '10.0.0.0/99', 'their networks'],
    ['TRUST_PROXY', 'on', 'write how many proxies are in front .WAYPOST_TRUST_PROXY=1.'],
  ])
    assert.throws(
      () => loadConfig({ [`WAYPOST_${name}`]: value }),
      (error: Error) => {
        assert.ok(error instanceof ConfigurationError)
        assert.match(error.message, new RegExp(`WAYPOST_${name}.*${expected}`))
        return true
      },
    )
})

test('a certificate without its key is an error before the database is opened', () => {
  for (const name of ['HTTPS', 'MQTTS'])
    assert.throws(() => loadConfig({ [`WAYPOST_${name}_KEY_FILE`]: '/key.pem' }), {
      name: 'ConfigurationError',
      message: `WAYPOST_${name}_CERTIFICATE_FILE and WAYPOST_${name}_KEY_FILE belong together: set both or none`,
    })
})

test('every default is a value that the setting accepts', () => {
  for (const [name, { default: value }] of Object.entries(Object.assign({}, ...Object.values(settingTables))) as [
    string,
    Setting,
  ][])
    if (value !== undefined) loadConfig({ [`WAYPOST_${name}`]: value })
})

test('a secret can be set as a value or as the path of a file, but not as both', () => {
  const directory = temporaryDirectory()
  const file = join(directory, 'url')
  writeFileSync(file, 'postgres://u:p@localhost/db\n')
  assert.equal(loadConfig({ WAYPOST_DATABASE_URL_FILE: file }).databaseUrl, 'postgres://u:p@localhost/db')
  assert.throws(
    () => loadConfig({ WAYPOST_DATABASE_URL_FILE: file, WAYPOST_DATABASE_URL: 'postgres://x/y' }),
    /both set/,
  )
  assert.throws(
    () => loadConfig({ WAYPOST_DATABASE_URL_FILE: join(directory, 'none') }),
    /WAYPOST_DATABASE_URL_FILE: ENOENT/,
  )
  const empty = { WAYPOST_DATABASE_URL: '', WAYPOST_SMTP_URL_FILE: '' }
  assert.equal(loadConfig({ ...empty, WAYPOST_DATABASE_URL_FILE: file }).databaseUrl, 'postgres://u:p@localhost/db')
  rmSync(directory, { recursive: true })
})

test('the error about an invalid secret does not contain the secret', () => {
  assert.throws(
    () => loadConfig({ WAYPOST_DATABASE_URL: 'hunter2' }),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('the database URL must have the scheme of PostgreSQL, and may contain several hosts', () => {
  const several = 'postgres://u:p@one:5432,two:5433/db?sslmode=require'
  assert.equal(loadConfig({ WAYPOST_DATABASE_URL: several }).databaseUrl, several)
  for (const wrong of ['http://one/db', 'postgres://one:0/db', 'postgres://one:port/db', 'postgres://one/db?sslmode=x'])
    assert.throws(() => loadConfig({ WAYPOST_DATABASE_URL: wrong }), /expected an address such as postgres:/)
})

test('all settings can be listed, each with the origin of its value', () => {
  const all = readSettings({ WAYPOST_PORT: '1' })
  assert.deepEqual(all.get('PORT'), { name: 'WAYPOST_PORT', value: '1', origin: 'environment', secret: false })
  assert.equal(all.size, Object.keys(joinTables(settingTables)).length)
})

test('WAYPOST_AUTH turns authentication off for all services or for the named services', () => {
  assert.equal(loadConfig({ WAYPOST_AUTH: 'off' }).withoutAuthentication, 'all')
  assert.deepEqual(loadConfig({ WAYPOST_AUTH: 'register, rules' }).withoutAuthentication, ['register', 'rules'])
})

test('assembly/settings.ts contains exactly the settings that services, the kernel and the assembly declare', () => {
  const declared = Object.fromEntries(
    catalogue.flatMap((service) => (service.settings ? [[service.name, service.settings]] : [])),
  )
  // The kernel and the assembly declare these settings.
  const ofKernel = ['backup', 'console', 'https', 'limits', 'mail', 'secrets']
  assert.deepEqual([...Object.keys(declared), ...ofKernel].toSorted(), Object.keys(serviceSettings).toSorted())
  for (const [name, settings] of Object.entries(declared)) assert.equal(settings, serviceSettings[name])
  assert.throws(
    () => loadConfig({}).read(defineSettings({ X: { kind: 'text', default: '', meaning: 'x' } }, () => ({}))),
    /assembly\/settings\.ts does not list the settings X/,
  )
})

test('two services cannot declare the same setting', () => {
  const table = { PORT: { kind: 'port', default: '1', meaning: 'x' } } as const
  assert.throws(() => joinTables({ a: table, b: table }), /WAYPOST_PORT is a setting of both a and b/)
})

test('values have the type of their kind', () => {
  const { read, table } = defineSettings(
    {
      A: { kind: 'integer', default: '7', meaning: 'a' },
      B: { kind: 'switch', default: 'on', meaning: 'b' },
      C: { kind: 'text', default: undefined, meaning: 'c' },
    },
    ({ A, B, C }) => ({ sum: A + 1, not: !B, length: C?.length }),
  )
  assert.deepEqual(Object.keys(table), ['A', 'B', 'C'])
  assert.deepEqual(read({ A: 7, B: true, C: undefined } as never), { sum: 8, not: false, length: undefined })
})

test('commands that call the API read only their own settings, and reject variables that are not settings', async () => {
  const url = 'https://waypost.example.com'
  const config = await commandLineConfig({
    WAYPOST_URL: `${url}/`,
    WAYPOST_API_KEY: 'key',
    WAYPOST_PORT: '1',
    HOME: '/',
  })
  assert.deepEqual([config.url, config.apiKey, config.tenant], [url, 'key', undefined])
  await assert.rejects(commandLineConfig({ WAYPOST_URI: url }), /WAYPOST_URI is not a setting.*WAYPOST_URL/)
  await assert.rejects(commandLineConfig({ WAYPOST_URL: 'nowhere' }), /expected an address/)
  await assert.rejects(commandLineConfig({ WAYPOST_PORT: 'x' }), /expected a port/)
})
