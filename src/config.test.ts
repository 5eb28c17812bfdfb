import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { throwAwayDirectory } from '../test/harness/database.ts'
import { ConfigurationError, loadConfig, readSettings, settings } from './config.ts'

test('every setting of the specification has its default', () => {
  const config = loadConfig({})
  assert.equal(config.port, 8080)
  assert.equal(config.managementPort, 9090)
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.openDoors, 'none')
  assert.equal(config.service.generateApplicationNames, false)
  assert.equal(config.service.allowPrivateAddresses, false)
  assert.match(config.dataDirectory, /\/data$/)
})

test('an unknown variable is an error that names the nearest known one', () => {
  for (const [given, nearest] of [
    ['WAYPOST_PROT', 'WAYPOST_PORT'],
    ['WAYPOST_DATABASE_URI', 'WAYPOST_DATABASE_URL'],
    ['WAYPOST_SMTP', 'WAYPOST_SMTP_URL'],
  ])
    assert.throws(() => loadConfig({ [given!]: 'x' }), new RegExp(`${given} is not a setting.*${nearest}`))
})

test('variables of others are not ours to judge', () => {
  loadConfig({ PATH: '/bin', WAYPOSTX: '1' })
})

test('a value of the wrong kind is refused with what was expected', () => {
  for (const [name, value, expected] of [
    ['PORT', '70000', 'a port'],
    ['PORT', 'http', 'a port'],
    ['PORT', '-1', 'a port'],
    ['ALLOW_PRIVATE_ADDRESSES', 'yes', 'on or off'],
    ['RATE_LIMIT_PER_ADDRESS', '1.5', 'a whole number'],
    ['BASE_URL', 'nowhere', 'an address'],
    ['BASE_URL', 'javascript:x', 'an address'],
    ['BASE_URL', 'http://u:p@host', 'an address'],
    ['BASE_URL', 'http://host/?x', 'an address'],
    ['BASE_URL', 'ftp://host', 'an address'],
    ['LOG_LEVEL', 'loud', 'one of trace'],
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

test('a secret comes from a file as well, and not from both', () => {
  const directory = throwAwayDirectory()
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
  rmSync(directory, { recursive: true })
})

test('a bad secret is not repeated in the message', () => {
  assert.throws(
    () => loadConfig({ WAYPOST_DATABASE_URL: 'hunter2' }),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('every setting says where it came from', () => {
  const all = readSettings({ WAYPOST_PORT: '1' })
  assert.deepEqual(all.get('PORT'), { name: 'WAYPOST_PORT', value: '1', from: 'environment', secret: false })
  assert.equal(all.size, Object.keys(settings).length)
})

test('authentication is switched off for all or for the named services', () => {
  assert.equal(loadConfig({ WAYPOST_AUTH: 'off' }).openDoors, 'all')
  assert.deepEqual(loadConfig({ WAYPOST_AUTH: 'register, token' }).openDoors, ['register', 'token'])
})
