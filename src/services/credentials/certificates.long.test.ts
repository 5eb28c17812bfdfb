import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openCredentials, root, services } from '../../../test/harness/credentials.ts'
import { afterAllTests, temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { migratedDatabase } from '../../../test/harness/test-platform.ts'
import { longestStallMs } from '../../../test/harness/thread-time.ts'
import { systemClock } from '../../kernel/clock.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { type CredentialState, credentialStates, isAllowed, targetStates } from './states.ts'

const connection = await migratedDatabase(services)
const environment = { WAYPOST_MASTER_KEY: 'one key for both nodes, long enough' }
let clockAheadMs = 0
const now = () => new Date(systemClock().getTime() + clockAheadMs)
const firstNode = await openCredentials({ connection, environment, now })
const otherNode = await openCredentials({ connection, environment, now })
const { waypost, admin, api, publishedEvents, aCertificate, setState } = firstNode
const other = waypost.as(aTenantAdmin('other'))

const kpc = '/kpc/api/v1/certificates'
const directory = temporaryDirectory()
afterAllTests(() => rmSync(directory, { recursive: true, force: true }))
let fileCount = 0
const writeTemporaryFile = (content: string | Buffer) => {
  const path = join(directory, String(fileCount++))
  writeFileSync(path, content)
  return path
}
const run = promisify(execFile)
/** Runs OpenSSL. If it fails, throws its error output. */
const openssl = async (...parameters: string[]) => (await run('openssl', parameters)).stdout

async function revocationLists(certificate: string) {
  const addresses = [
    ...(await openssl('x509', '-in', writeTemporaryFile(certificate), '-noout', '-text')).matchAll(/URI:(\S+)/g),
  ]
  const path = addresses[0]![1]!.replace('http://waypost.test', '')
  const pemOf = async (address: string) => {
    const answer = await waypost.http.app.inject({ url: address })
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'application/pkix-crl')
    return await openssl('crl', '-inform', 'DER', '-in', writeTemporaryFile(answer.rawPayload))
  }
  return { path, pem: (await pemOf(path)) + (await pemOf(`${kpc}/crl`)) }
}

/** Verifies a certificate as a server does: its purpose, its chain up to the root, and both revocation lists. */
async function verify({ certificate, issuingCa }: { certificate: string; issuingCa: string }) {
  const { pem } = await revocationLists(certificate)
  const authority = (await waypost.http.app.inject({ url: `${kpc}/root` })).body
  const seconds = String(Math.floor(now().getTime() / 1000))
  return await openssl(
    ...['verify', '-x509_strict', '-purpose', 'sslclient', '-crl_check_all', '-attime', seconds],
    ...[
      '-CAfile',
      writeTemporaryFile(authority),
      '-untrusted',
      writeTemporaryFile(issuingCa),
      '-CRLfile',
      writeTemporaryFile(pem),
      writeTemporaryFile(certificate),
    ],
  )
}

suite('issuing a certificate', () => {
  test('issuing a certificate returns the private key, which is not stored and never returned again', async () => {
    const { status, body, headers } = await admin(`POST ${root}/x509-credentials`, { commonName: 'pump 7', x: 1 })
    assert.equal(status, 201)
    assert.equal(headers.location, `http://waypost.test/api/v1/x509-credentials/${body.id}`)
    const { certificate, certificateChain, caChain, issuingCa, privateKey, ...resource } = body
    assert.deepEqual(Object.keys(resource).sort(), [
      ...['commonName', 'createdDate', 'id', 'invalidAfter', 'serialNumber', 'state', 'updatedDate'],
    ])
    assert.deepEqual([resource.state, resource.commonName], ['Inactive', 'pump 7'])
    assert.equal(certificateChain, certificate + caChain.join(''))
    assert.equal(issuingCa, caChain[0])
    assert.equal(caChain.length, 2)
    const leaf = new X509Certificate(certificate)
    assert.ok(leaf.checkPrivateKey(createPrivateKey(privateKey)))
    assert.match(privateKey, /^-----BEGIN PRIVATE KEY-----\n/)
    assert.ok(leaf.verify(new X509Certificate(issuingCa).publicKey))
    assert.deepEqual((await admin(`GET ${root}/x509-credentials/${body.id}`)).body, resource)
    const list = await admin(`GET ${root}/x509-credentials`)
    assert.ok(!/PRIVATE|BEGIN/.test(list.text))
    assert.deepEqual(list.body.at(-1), resource)
    const storedRows = await waypost.kit.db.sql`select * from credentials.certificates, credentials.authorities`
    const secret = privateKey.split('\n')[1]
    assert.ok(!JSON.stringify(storedRows).includes(secret) && !JSON.stringify(storedRows).includes('PRIVATE'))
  })

  test('issuing a certificate creates certificates that OpenSSL accepts: chain, purpose, extensions, serial number and dates', async () => {
    const before = Math.floor(now().getTime() / 1000)
    const issued = await aCertificate({ ttl: 86_400 })
    assert.match(await verify(issued), /: OK/)
    const leaf = writeTemporaryFile(issued.certificate)
    const text = await openssl('x509', '-in', leaf, '-noout', '-text')
    assert.match(text, /Public-Key: \(256 bit\)[\s\S]*NIST CURVE: P-256/)
    assert.match(text, /Signature Algorithm: ecdsa-with-SHA256/)
    assert.match(text, /X509v3 Basic Constraints: critical\n\s+CA:FALSE/)
    assert.match(text, /X509v3 Key Usage: critical\n\s+Digital Signature\n/)
    assert.match(text, /X509v3 Extended Key Usage: \n\s+TLS Web Client Authentication\n/)
    assert.match(text, /X509v3 Subject Key Identifier/)
    assert.match(text, /X509v3 Authority Key Identifier/)
    assert.match(text, /X509v3 CRL Distribution Points[\s\S]*URI:http:\/\/waypost\.test\/kpc\/api\/v1\/certificates\//)
    const serial = (await openssl('x509', '-in', leaf, '-noout', '-serial')).trim().slice('serial='.length)
    assert.equal(BigInt(`0x${serial}`).toString(), issued.serialNumber)
    assert.ok(BigInt(issued.serialNumber) > 2n ** 64n)
    const dates = await openssl('x509', '-in', leaf, '-noout', '-dates')
    const [notBefore, notAfter] = [...dates.matchAll(/=(.+)/g)].map(([, date]) => Date.parse(date!) / 1000)
    assert.equal(notAfter! - notBefore!, 86_400)
    assert.ok(notBefore! >= before && notBefore! <= before + 2)
    assert.equal(issued.invalidAfter, new Date(notAfter! * 1000).toISOString())
    assert.match(issued.commonName, /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    // The certificate can neither sign certificates nor authenticate a server.
    await assert.rejects(
      openssl('verify', '-purpose', 'sslserver', '-CAfile', writeTemporaryFile(issued.caChain.join('')), leaf),
    )
  })

  test('an issued certificate is valid for a year by default, or for the given time', async () => {
    const year = await aCertificate()
    const created = Math.floor(Date.parse(year.createdDate) / 1000)
    assert.equal(Date.parse(year.invalidAfter) / 1000, created + 31_536_000)
    for (const ttl of [1, 59, 3_000_000_000, 250_000_000_000]) {
      const issued = await aCertificate({ ttl })
      const { validFrom, validTo } = new X509Certificate(issued.certificate)
      assert.equal((Date.parse(validTo) - Date.parse(validFrom)) / 1000, ttl)
      assert.equal(Date.parse(issued.invalidAfter), Date.parse(validTo))
      if (ttl > 1) assert.match(await verify(issued), /: OK/)
    }
  })

  test('issuing a certificate accepts any printable common name of up to 255 characters', async () => {
    for (const commonName of ['c'.repeat(255), '#04026869', 'a=b, O=c+d;"<e>\\ ', ' ', '/CN=x', '*']) {
      const issued = await aCertificate({ commonName })
      assert.equal(issued.commonName, commonName)
      assert.equal((await admin(`GET ${root}/x509-credentials/${issued.id}`)).body.commonName, commonName)
      assert.equal(new X509Certificate(issued.certificate).toLegacyObject().subject.CN, commonName)
      assert.match(await verify(issued), /: OK/)
    }
  })

  test('issuing a certificate rejects invalid input and names the field', async () => {
    const cases: [unknown, string][] = [
      [{ commonName: '' }, 'commonName'],
      [{ commonName: 'c'.repeat(256) }, 'commonName'],
      [{ commonName: 'é' }, 'commonName'],
      [{ commonName: 'a\nb' }, 'commonName'],
      [{ commonName: null }, 'commonName'],
      [{ ttl: 0 }, 'ttl'],
      [{ ttl: -1 }, 'ttl'],
      [{ ttl: 1.5 }, 'ttl'],
      [{ ttl: '60' }, 'ttl'],
      [{ ttl: null }, 'ttl'],
      [{ ttl: 1e300 }, 'ttl'],
      [{ ttl: 250_000_000_001 }, 'ttl'],
      [[], 'body'],
      ['{', 'body'],
    ]
    for (const [body, field] of cases) {
      const answer = await admin(`POST ${root}/x509-credentials`, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(answer.body.message, new RegExp(`^${field}`), JSON.stringify(body))
    }
  })

  test('issuing a certificate at two nodes at the same time for a new tenant creates one certificate authority', async () => {
    const nodes = [firstNode, otherNode, firstNode, otherNode]
    const issued = await Promise.all(
      nodes.map(({ waypost, aCertificate }) => aCertificate({}, waypost.as(aTenantAdmin('contested')))),
    )
    assert.equal(new Set(issued.map(({ issuingCa }) => issuingCa)).size, 1)
    assert.equal(new Set(issued.map(({ caChain }) => caChain[1])).size, 1)
    assert.equal(new Set(issued.map(({ serialNumber }) => serialNumber)).size, 4)
    for (const certificate of issued) assert.match(await verify(certificate), /: OK/)
    const ofOtherTenant = await aCertificate({}, other)
    assert.notEqual(ofOtherTenant.issuingCa, issued[0].issuingCa)
    assert.equal(ofOtherTenant.caChain[1], issued[0].caChain[1])
  })
})

suite('the root and the revocation lists', () => {
  test('the root and the revocation lists are public', async () => {
    const { body, statusCode, headers } = await waypost.http.app.inject({ url: `${kpc}/root` })
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'application/x-pem-file')
    const authority = new X509Certificate(body)
    assert.ok(authority.ca && authority.verify(authority.publicKey))
    assert.equal(await api.rootCertificate(), body)
    assert.match(await openssl('x509', '-in', writeTemporaryFile(body), '-noout', '-text'), /CA:TRUE, pathlen:1/)
    for (const url of [`${kpc}/authorities/nothing/crl`, `${kpc}/authorities/x%00/crl`]) {
      const missing = await waypost.http.app.inject({ url })
      assert.ok([404, 400].includes(missing.statusCode))
    }
  })

  test('the revocation list contains revoked certificates, and suspended certificates as "on hold", but no reactivated certificates', async () => {
    const issued = await aCertificate()
    const { id } = issued
    assert.match(await verify(issued), /: OK/)
    await api.verifyCertificate(new X509Certificate(issued.certificate))
    await setState('x509-credentials', id, 'Suspended')
    await assert.rejects(verify(issued), /certificate revoked/)
    const revocationListText = await openssl(
      'crl',
      '-in',
      writeTemporaryFile((await revocationLists(issued.certificate)).pem),
      '-noout',
      '-text',
    )
    assert.match(revocationListText, /Certificate Hold/)
    await setState('x509-credentials', id, 'Active')
    assert.match(await verify(issued), /: OK/)
    await setState('x509-credentials', id, 'Revoked')
    await assert.rejects(verify(issued), /certificate revoked/)
    assert.match(await verify(await aCertificate()), /: OK/)
  })

  test('a revocation list is reused until a state changes or a day has passed; its number only increases', async () => {
    const issued = await aCertificate()
    const { path } = await revocationLists(issued.certificate)
    const read = async () => {
      const answer = await waypost.http.app.inject({ url: path })
      const text = await openssl(
        'crl',
        '-inform',
        'DER',
        '-in',
        writeTemporaryFile(answer.rawPayload),
        '-noout',
        '-text',
      )
      const dateOf = (name: string) => Date.parse(text.match(new RegExp(`${name}: (.+)`))![1]!)
      const number = Number(text.match(/CRL Number: \n\s+(\d+)/)![1])
      const goodForMs = dateOf('Next Update') - dateOf('Last Update')
      return { etag: answer.headers.etag as string, number, goodForMs, bytes: answer.rawPayload }
    }
    const first = await read()
    assert.equal(first.goodForMs, 7 * 86_400_000)
    assert.deepEqual((await read()).bytes, first.bytes)
    const same = await waypost.http.app.inject({ url: path, headers: { 'if-none-match': first.etag } })
    assert.deepEqual([same.statusCode, same.body], [304, ''])
    const lists = await Promise.all([setState('x509-credentials', issued.id, 'Revoked').then(read), read(), read()])
    const second = lists[0]
    assert.ok(second.number > first.number)
    assert.notEqual(second.etag, first.etag)
    clockAheadMs += 86_401_000
    assert.equal((await read()).number, second.number + 1)
    clockAheadMs -= 86_401_000
  })

  test('when a tenant is deleted, the platform revokes its certificate authority, and clients with its certificates are rejected', async () => {
    const doomed = waypost.as(aTenantAdmin('doomed'))
    const issued = await aCertificate({}, doomed)
    const leaf = new X509Certificate(issued.certificate)
    assert.ok(await api.verifyCertificate(leaf))
    const { pem } = await revocationLists(issued.certificate)
    await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'doomed' }))
    await Promise.all([waypost.kit.bus.settled(), otherNode.waypost.kit.bus.settled()])
    // Either node may handle the event. The other node gets a signal.
    for (const node of [api, otherNode.api])
      await eventually(async () => assert.equal(await node.verifyCertificate(leaf), undefined), { withinMs: 1000 })
    assert.deepEqual((await doomed(`GET ${root}/x509-credentials`)).body, [])
    const list = await waypost.http.app.inject({ url: `${kpc}/crl` })
    const rootList = await openssl('crl', '-inform', 'DER', '-in', writeTemporaryFile(list.rawPayload))
    const lists = pem.slice(0, pem.indexOf('-----END X509 CRL-----') + 23) + rootList
    const checked = openssl(
      ...[
        'verify',
        '-crl_check_all',
        '-CAfile',
        writeTemporaryFile(issued.caChain[1]),
        '-untrusted',
        writeTemporaryFile(issued.issuingCa),
      ],
      ...['-CRLfile', writeTemporaryFile(lists), writeTemporaryFile(issued.certificate)],
    )
    await assert.rejects(checked, /certificate revoked/)
    // A new tenant with the same id gets a new authority.
    const recreated = await aCertificate({}, doomed)
    assert.notEqual(recreated.issuingCa, issued.issuingCa)
    assert.ok(await api.verifyCertificate(new X509Certificate(recreated.certificate)))
    assert.equal(await api.verifyCertificate(leaf), undefined)
  })

  test('creating a revocation list of 10,000 entries does not block the event loop', async (t) => {
    const at = now()
    await aCertificate({}, waypost.as(aTenantAdmin('strict')))
    await waypost.kit.db.sql`
      insert into credentials.certificates
        (tenant_id, id, serial_number, common_name, state, invalid_after, created_date, updated_date)
      select 'strict', 'id-' || n, ('100000000000000000000000000000000000000'::numeric + n)::text, 'c', 'Revoked', ${new Date(at.getTime() + 1e9)}, ${at}, ${at}
      from generate_series(1, 10000) n`
    await waypost.kit.db.sql`update credentials.authorities set revision = revision + 1 where tenant_id = 'strict'`
    const [{ id } = { id: '' }] = await waypost.kit.db
      .sql`select id from credentials.authorities where tenant_id = 'strict'`
    const url = `${kpc}/authorities/${id}/crl`
    let content: Buffer = Buffer.alloc(0)
    const longest = await longestStallMs(async () => {
      content = (await waypost.http.app.inject({ url })).rawPayload
    })
    t.diagnostic(`${content.length} bytes, longest pause of the event loop ${Math.round(longest)} ms`)
    const text = await openssl('crl', '-inform', 'DER', '-in', writeTemporaryFile(content), '-noout', '-text')
    assert.equal(text.match(/Serial Number/g)?.length, 10_000)
    assert.ok(longest < 400, `${longest} ms`)
  })
})

suite('the state of certificates', () => {
  async function inState(state: CredentialState) {
    const issued = await aCertificate()
    if (state === 'Active' || state === 'Suspended')
      await api.verifyCertificate(new X509Certificate(issued.certificate))
    if (state === 'Suspended' || state === 'Revoked') await setState('x509-credentials', issued.id, state)
    return issued
  }

  test('the state of certificates changes only by the transitions of the specification, for every pair of states', async () => {
    for (const from of credentialStates)
      for (const to of targetStates) {
        const { id, serialNumber } = await inState(from)
        publishedEvents.length = 0
        const isAccepted = from === to || isAllowed(from, to, 'caller')
        await setState('x509-credentials', id, to, isAccepted ? 204 : 400)
        const after = (await admin(`GET ${root}/x509-credentials/${id}`)).body
        const changed = isAccepted && from !== to
        assert.equal(after.state, changed ? to : from, `${from} → ${to}`)
        const payload = { tenantId: 'default', credentialId: id, kind: 'x509', serialNumber, from, to }
        assert.deepEqual(publishedEvents, changed ? [{ event: 'credentials.credential.state-changed', payload }] : [])
      }
    const { id } = await inState('Inactive')
    await setState('x509-credentials', id, 'Inactive', 400)
    await setState('x509-credentials', 'nothing', 'Revoked', 404)
  })

  test('each operation requires its scope, and another tenant gets 404', async () => {
    const { id } = await aCertificate()
    const scopes = ['create', 'read', 'update'].map((verb) => `tenant:x509-credentials:${verb}`)
    const operations: [string, string, object?][] = [
      ['read', `GET ${root}/x509-credentials`],
      ['create', `POST ${root}/x509-credentials`, {}],
      ['read', `GET ${root}/x509-credentials/${id}`],
      ['update', `PATCH ${root}/x509-credentials/${id}/state`, { state: 'Revoked' }],
    ]
    for (const [verb, operation, body] of operations) {
      const needed = `tenant:x509-credentials:${verb}`
      const without = waypost.as(aCaller({ on: { 'tenant-system': scopes.filter((scope) => scope !== needed) } }))
      assert.equal((await without(operation, body)).status, 403, operation)
      assert.equal((await waypost.as(undefined)(operation, body)).status, 401, operation)
      const foreign = await other(operation, body)
      assert.equal(
        foreign.status,
        { GET: operation.includes(id) ? 404 : 200, POST: 201, PATCH: 404 }[operation.split(' ')[0]!],
      )
      assert.ok(!foreign.text.replaceAll(`credentials ${id}`, '').includes(id))
      const permitted = await waypost.as(aCaller({ on: { 'tenant-system': [needed] } }))(operation, body)
      assert.ok(permitted.status < 300, `${operation}: ${permitted.status}`)
    }
  })
})

suite('a client with a certificate', () => {
  test('a client with a certificate is accepted by issuer and serial number; the first use activates the certificate', async () => {
    const issued = await aCertificate()
    const leaf = new X509Certificate(issued.certificate)
    publishedEvents.length = 0
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.verifyCertificate(leaf)))
    const invalidAfter = new Date(issued.invalidAfter)
    for (const answer of answers)
      assert.deepEqual(answer, { tenantId: 'default', credentialId: issued.id, invalidAfter })
    assert.deepEqual(
      publishedEvents.map(({ payload }) => payload.to),
      ['Active'],
    )
    const { body } = await admin(`GET ${root}/x509-credentials/${issued.id}`)
    assert.equal(body.state, 'Active')
    assert.ok(body.lastUseDate)
  })

  test('a client with a certificate is rejected if the certificate is suspended, revoked or expired, has an unknown or forged issuer, or belongs to a certificate authority', async () => {
    const issued = await aCertificate({ ttl: 3600 })
    const leaf = new X509Certificate(issued.certificate)
    assert.ok(await api.verifyCertificate(leaf))
    assert.ok(await otherNode.api.verifyCertificate(leaf))
    await setState('x509-credentials', issued.id, 'Suspended')
    // Either node may handle the event. The other node gets a signal.
    for (const node of [api, otherNode.api])
      await eventually(async () => assert.equal(await node.verifyCertificate(leaf), undefined), { withinMs: 1000 })
    await setState('x509-credentials', issued.id, 'Active')
    assert.ok(await api.verifyCertificate(leaf))
    clockAheadMs += 3_601_000
    assert.equal(await api.verifyCertificate(leaf), undefined)
    clockAheadMs -= 3_601_000
    for (const authority of issued.caChain)
      assert.equal(await api.verifyCertificate(new X509Certificate(authority)), undefined)
    // OpenSSL creates a certificate with the same issuer name and serial number, but another key.
    const key = join(directory, 'forged.key')
    const [csr, ca] = [join(directory, 'forged.csr'), join(directory, 'forged-ca.pem')]
    const subject = new X509Certificate(issued.issuingCa).subject.split('\n').map((part) => `/${part}`)
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    await openssl('req', '-x509', ...ec, '-keyout', key, '-out', ca, '-utf8', '-subj', subject.join(''))
    await openssl('req', '-new', '-key', key, '-out', csr, '-subj', `/CN=${issued.commonName}`)
    const forged = await openssl(
      ...['x509', '-req', '-in', csr, '-CA', ca, '-CAkey', key, '-set_serial', issued.serialNumber, '-days', '1'],
    )
    const copy = new X509Certificate(forged)
    assert.deepEqual([copy.issuer, copy.serialNumber], [leaf.issuer, leaf.serialNumber])
    assert.equal(await api.verifyCertificate(copy), undefined)
    assert.equal(await api.tenantOfCertificate(copy), undefined)
    assert.equal(await api.verifyCertificate(new X509Certificate(await openssl('x509', '-in', ca))), undefined)
  })

  test('a client with a certificate is accepted in a real TLS handshake, whether it sends the chain or its certificate alone', async () => {
    const issued = await aCertificate()
    const authority = await api.rootCertificate()
    const serverCertificate = await api.issueServerCertificate({ hosts: ['localhost', '127.0.0.1'], ttlSeconds: 3600 })
    for (const [cert, authorized] of [
      [issued.certificateChain, true],
      [issued.certificate, false],
    ] as const) {
      const server = tls.createServer({
        ...{ cert: serverCertificate.certificateChain, key: serverCertificate.privateKey, ca: authority },
        ...{ requestCert: true, rejectUnauthorized: false },
      })
      const serverSocket = new Promise<tls.TLSSocket>((resolve) => server.once('secureConnection', resolve))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      // The device trusts only the root that it downloaded.
      const device = tls.connect({ port, host: '127.0.0.1', ca: authority, cert, key: issued.privateKey })
      await new Promise((resolve, reject) => device.once('secureConnect', resolve as never).once('error', reject))
      const socket = await serverSocket
      assert.equal(socket.authorized, authorized)
      const verified = await api.verifyCertificate(socket.getPeerX509Certificate()!)
      assert.equal(verified?.credentialId, issued.id)
      device.destroy()
      socket.destroy()
      server.close()
    }
  })
})

suite('expiry', () => {
  test('expiry is published once, thirty days before it happens', async () => {
    const day = 86_400
    const issued = await aCertificate({ commonName: 'soon', ttl: 31 * day })
    const revoked = await aCertificate({ ttl: 31 * day })
    await setState('x509-credentials', revoked.id, 'Revoked')
    const [task] = waypost.built.get('credentials')?.periodic ?? []
    const publishExpiring = async () => {
      publishedEvents.length = 0
      await waypost.kit.db.tx((sql) => task!.run(sql))
      const expiryEvents = publishedEvents.filter(({ event }) => event === 'credentials.certificate.expires-soon')
      return expiryEvents.map(({ payload }) => payload).filter(({ commonName }) => commonName === 'soon')
    }
    assert.deepEqual(await publishExpiring(), [])
    clockAheadMs += 1.5 * day * 1000
    const { id: credentialId, serialNumber, invalidAfter } = issued
    assert.deepEqual(await publishExpiring(), [
      { tenantId: 'default', credentialId, serialNumber, commonName: 'soon', invalidAfter },
    ])
    assert.ok(!publishedEvents.some(({ payload }) => payload.credentialId === revoked.id))
    assert.deepEqual(await publishExpiring(), [])
  })
})
