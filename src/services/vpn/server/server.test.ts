import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { services } from '../../../../test/harness/gateway.ts'
import { openTestPlatform } from '../../../../test/harness/test-platform.ts'
import { createPkiWorker } from '../../../kernel/pki/worker.ts'
import { TenantStatusChanged } from '../../tenants/events.ts'
import vpn from '../index.ts'
import { createAuthorities } from '../service/authorities.ts'
import * as store from '../store/server.ts'
import { createConnections } from './connections.ts'
import { createServerData } from './data.ts'
import { firewallRules } from './firewall.ts'
import { createLeaseWatch, silentMs } from './lease.ts'
import { type ClientNotice, createManagementParser } from './management.ts'
import { hiddenInstallation, serverConfig } from './openvpn-config.ts'
import { missingParts, portProblem } from './programs.ts'
import { createRevocationFile } from './revocation-file.ts'

const waypost = await openTestPlatform({ services: [...services, vpn] })
const { sql } = waypost.kit.db

suite('the management interface', () => {
  const text =
    '>INFO:OpenVPN Management Interface Version 5\r\n>HOLD:Waiting for hold release:0\r\nSUCCESS: x\r\n' +
    '>CLIENT:CONNECT,7,1\r\n>CLIENT:ENV,X509_0_CN=a=b\r\n>CLIENT:ENV,n\r\n>CLIENT:ENV,END\r\n' +
    '>STATE:1,CONNECTED,SUCCESS,,,,,\r\n>CLIENT:ADDRESS,7,10.0.0.1,1\r\n>CLIENT:DISCONNECT,7\r\n>CLIENT:ENV,END\r\n'

  test('notifications are parsed from pieces of any size', () => {
    for (const size of [1, 7, 1000]) {
      const received: string[] = []
      const parse = createManagementParser({
        client: ({ kind, cid, kid, env }) => received.push(`${kind} ${cid} ${kid} ${[...env]}`),
        hold: () => received.push('hold'),
        state: (name) => received.push(name),
      })
      for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size))
      assert.deepEqual(received, ['hold', 'CONNECT 7 1 X509_0_CN,a=b', 'CONNECTED', 'DISCONNECT 7  '])
    }
  })
})

suite('permission to connect', () => {
  const id = '0b9f4f0e-0c2f-4c5e-9c41-6f7f0f6f3a55'
  const row: store.VerificationRow = {
    ...{ tenantId: 'a', protocol: 'udp', state: 'active', address: '10.80.16.5' },
    ...{ fingerprint: 'aa11', authorityFingerprint: 'bb22', isAvailable: true, isExpired: false },
  }
  const notice = (kind: ClientNotice['kind'], change: Record<string, string> = {}): ClientNotice => ({
    ...{ kind, cid: '3', kid: '1' },
    env: new Map(
      Object.entries({ X509_0_CN: id, tls_digest_sha256_0: 'AA:11', tls_digest_sha256_1: 'bb:22', ...change }),
    ),
  })

  function open(find: () => Promise<store.VerificationRow | undefined>) {
    const sent: string[] = []
    const routes: string[] = []
    const connections = createConnections({
      protocol: 'udp',
      network: { first: 0x0a500000, prefix: 12 },
      host: {
        addClient: async (_, { address, gateway }) => void routes.push(`add ${address} ${gateway}`),
        removeClient: async (_, address) => void routes.push(`remove ${address}`),
      },
      find,
      freeAddress: () => {},
      send: (command) => void sent.push(command),
      report: () => {},
      sleep: async () => {},
    })
    return { connections, sent, routes }
  }

  test('an active client gets its address and may exchange keys again; its route is removed when it disconnects', async () => {
    const { connections, sent, routes } = open(async () => row)
    connections.handle(notice('CONNECT'))
    await eventually(() => assert.equal(sent.length, 1))
    assert.equal(
      sent[0],
      'client-auth 3 1\nifconfig-push 10.80.16.5 255.255.240.0\npush "route-gateway 10.80.16.1"\nEND\n',
    )
    connections.handle(notice('REAUTH'))
    connections.handle(notice('REAUTH', { tls_digest_sha256_0: 'CC' }))
    assert.deepEqual(sent.slice(1), ['client-auth-nt 3 1\n', 'client-deny 3 1 "denied"\n'])
    assert.deepEqual(connections.ids(), [id])
    connections.end([id])
    connections.end([id])
    assert.deepEqual(sent.slice(3), ['client-kill 3 HALT\n', `kill ${id}\n`])
    connections.handle(notice('DISCONNECT'))
    await eventually(() => assert.deepEqual(routes, ['add 10.80.16.5 10.80.16.1', 'remove 10.80.16.5']))
    assert.deepEqual([connections.ids(), connections.takeSeen()], [[], [id]])
  })

  const refused: Record<string, [Partial<store.VerificationRow> | undefined, Record<string, string>?]> = {
    'an unknown client': [undefined],
    'a revoked client': [{ state: 'revoked' }],
    'another certificate with the same name': [{}, { tls_digest_sha256_0: 'AB' }],
    'a certificate of another authority': [{}, { tls_digest_sha256_1: 'BC' }],
    'a certificate without its authority': [{}, { tls_digest_sha256_1: '' }],
    'an expired certificate': [{ isExpired: true }],
    'a tenant that is not available': [{ isAvailable: false }],
    'a client of the other protocol': [{ protocol: 'tcp' }],
    'an address outside of the network': [{ address: '10.0.0.5' }],
    'a name that is not an id': [{}, { X509_0_CN: '* ' }],
  }
  for (const [name, [change, env]] of Object.entries(refused))
    test(`a connection is refused for ${name}`, async () => {
      const { connections, sent, routes } = open(async () => change && { ...row, ...change })
      connections.handle(notice('CONNECT', env))
      await eventually(() => assert.deepEqual(sent, ['client-deny 3 1 "denied"\n']))
      assert.deepEqual([routes, connections.ids()], [[], []])
    })

  test('while the database is unreachable, no client connects; clients wait until the database is reachable again', async () => {
    let failures = 3
    const { connections, sent } = open(async () => {
      if (failures-- > 0) throw new Error('unreachable')
      return row
    })
    connections.handle(notice('CONNECT'))
    await eventually(() => assert.equal(sent.length, 1))
    assert.equal(failures, -1)
    const unreachable = open(() => Promise.reject(new Error('unreachable')))
    let attempts = 0
    const never = createConnections({
      ...({
        protocol: 'udp',
        network: { first: 0, prefix: 8 },
        host: {},
        freeAddress() {},
        report() {},
      } as never as object),
      find: () => Promise.reject(new Error(String(++attempts))),
      send: (command: string) => void unreachable.sent.push(command),
      sleep: async () => {},
    } as never)
    never.handle(notice('CONNECT'))
    await eventually(() => assert.ok(attempts >= 50))
    assert.deepEqual(unreachable.sent, [])
  })
})

suite('the lease', () => {
  const data = {
    findLease: () => store.findLease(sql),
    takeLease: (claim: Parameters<typeof store.takeLease>[1]) => store.takeLease(sql, claim),
  }

  test('one process has the lease; another process takes over if the heartbeat stops, but not if only the database was unreachable', async () => {
    let nowMs = 0
    const [first, second, third] = ['one', 'two', 'three'].map((holder) =>
      createLeaseWatch({ holder, host: `host-${holder}` }, () => nowMs),
    )
    const checks = await Promise.all([first!.check(data), second!.check(data)])
    assert.equal(checks.filter(({ isHolder }) => isHolder).length, 1)
    const [holder, other, waiting] = checks[0]!.isHolder ? ['one', 'two', second!] : ['two', 'one', first!]
    const stepTo = async (end: number, beats: boolean) => {
      for (; nowMs < end; nowMs += 1000) {
        if (beats) assert.ok(await store.writeHeartbeat(sql, holder!, { running: true }))
        assert.deepEqual(await waiting.check(data), { isHolder: false, host: `host-${holder}` })
      }
    }
    await stepTo(20_000, true)
    assert.deepEqual(await store.findServerState(sql), { running: true })
    await stepTo(20_000 + silentMs - 1000, false)
    nowMs += 15_000 // The database was unreachable for both processes.
    await stepTo(nowMs + silentMs - 1000, false)
    await stepTo(nowMs + 1000, false)
    assert.deepEqual(await waiting.check(data), { isHolder: true })
    assert.equal(await store.writeHeartbeat(sql, holder!, { running: true }), false)
    await store.releaseLease(sql, other!, 'Port 1194 is in use')
    assert.deepEqual(await store.findServerState(sql), { running: false, problem: 'Port 1194 is in use' })
    assert.deepEqual(await third!.check(data), { isHolder: true })
  })
})

suite('revocation lists', () => {
  const directory = join(mkdtempSync(join(tmpdir(), 'vpn-lists-')), 'server')
  after(() => rmSync(join(directory, '..'), { recursive: true }))
  const countOf = (lists: string) => lists.split('-----BEGIN X509 CRL-----').length - 1

  test('each call returns the lists of all authorities, even after a call that failed when it had created some of the lists', async () => {
    const { db, secrets, now, newId } = waypost.kit
    const worker = createPkiWorker()
    const network = { first: 0x0a500000, prefix: 12 }
    const settings = { host: undefined, port: 1194, network, certificateDays: 30 }
    const authorities = createAuthorities({ db, now, newId, secrets, settings }, worker)
    const data = createServerData({ db, secrets, authorities, worker, now, close: () => worker.close() })
    await authorities.ofTenant('one')
    await sql`
      insert into vpn.tenants (tenant_id, range_start, certificate, sealed_key, serial_number, fingerprint)
      values ('zz', '10.90.0.0', '', '', '9', '')`
    await assert.rejects(data.revocationLists())
    await sql`delete from vpn.tenants where tenant_id = 'zz'`
    const lists = await data.revocationLists()
    assert.equal(countOf(lists), 2)
    assert.equal(await data.revocationLists(), lists)
    await sql`update vpn.tenants set revision = revision + 1 where tenant_id = 'one'`
    const changed = await data.revocationLists()
    assert.notEqual(changed, lists)
    await sql`delete from vpn.tenants where tenant_id = 'one'`
    assert.equal(countOf(await data.revocationLists()), 1)
    await data.close()
  })

  test('lists are written again after a failed write and for a new server, but not while they are the same', () => {
    const first = createRevocationFile(directory)
    assert.throws(() => first.write('lists'), /ENOENT/)
    mkdirSync(directory)
    first.write('lists')
    assert.equal(readFileSync(first.path, 'utf8'), 'lists')
    const { ino } = statSync(first.path)
    first.write('lists')
    assert.equal(statSync(first.path).ino, ino)
    first.write('new lists')
    assert.equal(readFileSync(first.path, 'utf8'), 'new lists')
    rmSync(directory, { recursive: true })
    mkdirSync(directory)
    createRevocationFile(directory).write('new lists')
    assert.equal(readFileSync(first.path, 'utf8'), 'new lists')
  })
})

suite('problems of the machine', () => {
  test('the problem names a missing program or the wrong operating system', () => {
    assert.deepEqual(missingParts({}, 'darwin'), ['The VPN server runs on Linux only, this is darwin'])
    const [openvpn, nft, ip] = missingParts({})
    for (const [problem, name] of [
      [openvpn, 'openvpn'],
      [nft, 'nftables'],
      [ip, 'iproute2'],
    ])
      assert.match(problem!, new RegExp(`not installed; on Debian: apt-get install ${name}`))
  })

  test('the problem of a port in use names the setting of the port', async () => {
    const tcp = createServer().listen(0, '0.0.0.0')
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    assert.equal(
      await portProblem('tcp', port),
      `Port ${port} (TCP, WAYPOST_VPN_PORT) is in use; stop the other program, or choose another port`,
    )
    tcp.close()
    const udp = createSocket('udp4')
    udp.bind(0)
    await once(udp, 'listening')
    assert.match((await portProblem('udp', udp.address().port))!, /UDP.*in use/)
    udp.close()
  })
})

suite('the configuration of the server', () => {
  test('the printed configuration has quoted paths and no key', () => {
    const files = { socket: '/tmp/a "b/s', revocationLists: '/tmp/c' }
    const text = serverConfig({ protocol: 'tcp', port: 1194, files, dropRights: true }, hiddenInstallation)
    assert.match(text, /^management "\/tmp\/a \\"b\/s" unix$/m)
    for (const line of [
      'management-client-auth',
      'management-client',
      'script-security 0',
      'verify-client-cert require',
    ])
      assert.match(text, new RegExp(`^${line}$`, 'm'))
    assert.doesNotMatch(text, /client-to-client|duplicate-cn|BEGIN/)
  })

  test('the firewall has rules for administrators and devices of every range of the network', () => {
    const rules = firewallRules({ network: { first: 0x0a500000, prefix: 19 }, platformPorts: [8080] })
    for (const pair of [
      '10.80.15.0-10.80.15.255 . 10.80.0.2-10.80.14.255',
      '10.80.16.2-10.80.30.255 . 10.80.31.0-10.80.31.255',
      '10.80.16.2-10.80.30.255 . 10.80.16.1',
    ])
      assert.ok(rules.includes(pair), pair)
    assert.ok(!rules.includes('10.80.32'))
  })
})

suite('tenants', () => {
  test('clients of a tenant that is not available are among the clients that may no longer be connected', async () => {
    await sql`
      insert into vpn.tenants (tenant_id, range_start, certificate, sealed_key, serial_number, fingerprint)
      values ('t', '10.80.0.0', '', '', '1', '')`
    await sql`
      insert into vpn.clients (id, tenant_id, name, type, protocol, address, certificate, sealed_key, serial_number,
        fingerprint, invalid_after, created)
      values ('c', 't', 'c', 'device', 'udp', '10.80.0.2', '', '', '2', '', now() + interval '1 day', now())`
    const { bus, db } = waypost.kit
    await bus.start({ workers: true })
    assert.deepEqual(await store.findNotPermitted(sql, ['c', 'unknown']), ['unknown'])
    for (const [from, to, refused] of [
      ['AVAILABLE', 'SUSPENDED', ['c']],
      ['SUSPENDED', 'AVAILABLE', []],
    ] as const) {
      await db.tx((tx) => bus.publish(tx, TenantStatusChanged, { tenantId: 't', from, to }))
      await eventually(async () => assert.deepEqual(await store.findNotPermitted(sql, ['c']), refused))
    }
    await bus.stop()
  })
})
