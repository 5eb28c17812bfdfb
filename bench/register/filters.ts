import { sleep } from '../../src/kernel/clock.ts'
import type { Figure } from '../report.ts'
import { applicationName, type BenchPlatform, root } from './bench-platform.ts'
import { callers, idOf, isOnline, registrationOf } from './endpoints.ts'
import { type HttpConnection, openHttpConnection } from './http-connection.ts'

export interface Filter {
  filterId: string
  memberSet: number
  count: number
  seconds: number
}

const filters = `${root}/applications/${applicationName}/filters`

/** Creates a filter and waits until it is active. */
export async function createFilter(
  { ask, sql, tenantId }: BenchPlatform,
  name: string,
  documentQuery: object,
): Promise<Filter> {
  const began = performance.now()
  const created = await ask(`POST ${filters}`, { name, documentQuery })
  if (created.status !== 201) throw new Error(`${created.status} ${created.text}`)
  const filterId: string = created.body.id
  for (;;) {
    const { status, text, body } = await ask(`GET ${filters}/${filterId}`)
    if (status !== 200) throw new Error(`${status} ${text}`)
    if (body.status === 'active') break
    await sleep(50)
  }
  const seconds = (performance.now() - began) / 1000
  const [row] = await sql`
    select member_set from register.filters where tenant_id = ${tenantId} and filter_id = ${filterId}`
  return { filterId, memberSet: row?.memberSet, count: await countOf({ ask }, filterId), seconds }
}

const countOf = async ({ ask }: Pick<BenchPlatform, 'ask'>, filterId: string): Promise<number> =>
  (await ask(`GET ${filters}/${filterId}`)).body.matchedEndpointsCount

export async function removeFilter({ ask }: BenchPlatform, { filterId }: Filter) {
  const { status, text } = await ask(`DELETE ${filters}/${filterId}`)
  if (status !== 204) throw new Error(`${status} ${text}`)
}

/** Measures the activation of a filter that matches half of all endpoints, while 16 callers add and change endpoints. */
export async function activation(bench: BenchPlatform, size: number): Promise<Figure[]> {
  const writer = await startWriting(bench, size)
  await sleep(1000)
  const unloaded = await rateDuring(writer, () => sleep(unloadedSeconds * 1000))
  let filter: Filter | undefined
  const busy = await rateDuring(writer, async () => {
    filter = await createFilter(bench, 'Half of all', { 'metadata.online': true })
  })
  await writer.stop()
  return [
    ...(await exactnessOf(bench, filter!)),
    { name: 'Registrations and metadata changes before a filter is matched', value: unloaded, unit: '/s' },
    { name: 'Registrations and metadata changes while the filter is matched', value: busy, unit: '/s' },
    {
      name: 'Rate while the filter is matched against before',
      value: busy / unloaded,
      unit: 'times',
      limit: { min: 0.5 },
    },
  ]
}

async function exactnessOf(bench: BenchPlatform, filter: Filter): Promise<Figure[]> {
  const { ask, sql, tenantId } = bench
  const [row] = await sql`
    select count(*) from register.endpoints where tenant_id = ${tenantId} and metadata @> '{"online": true}'`
  const exact: number = row?.count
  const count = await countOf(bench, filter.filterId)
  const page = await ask(`GET ${root}/endpoints?filterId=${filter.filterId}&limit=1`)
  const [members] = await sql`
    select count(*) from register.filter_members m join register.endpoints e using (tenant_id, seq)
    where m.tenant_id = ${tenantId} and m.member_set = ${filter.memberSet} and m.matched
      and e.metadata @> '{"online": true}'`
  const differences =
    Math.abs(count - exact) + Math.abs(page.body.totalElements - exact) + Math.abs(members?.count - exact)
  return [
    { name: `A filter of ${exact} endpoints is active after`, value: filter.seconds, unit: 's', limit: { max: 60 } },
    {
      name: 'Endpoints that are missing or wrong in the count, list and members of the filter',
      value: differences,
      unit: '',
      limit: { max: 0 },
    },
  ]
}

const unloadedSeconds = 5

interface Writer {
  written(): number
  stop(): Promise<void>
}

async function rateDuring(writer: Writer, work: () => Promise<void>): Promise<number> {
  const [began, before] = [performance.now(), writer.written()]
  await work()
  return (writer.written() - before) / ((performance.now() - began) / 1000)
}

/**
 * Starts callers that register endpoints without a pause. They also change a few hundred existing endpoints, so that these start or stop
 * matching the filter.
 */
async function startWriting({ platform, token }: BenchPlatform, size: number): Promise<Writer> {
  let [isRunning, next, written] = [true, 0, 0]
  const onlineByEndpoint = new Map<number, boolean>()
  const write = async (connection: HttpConnection) => {
    const round = next++
    const n = Math.floor(round / 2)
    if (round % 2 === 0)
      return await connection.ask('POST', `${root}/endpoints`, await token(), registrationOf(size + 1 + n), 201)
    const changed = 1 + ((n * 7919) % 300) * Math.floor(size / 300)
    const online = !(onlineByEndpoint.get(changed) ?? isOnline(changed))
    onlineByEndpoint.set(changed, online)
    return await connection.ask('PUT', `${root}/endpoints/${idOf(changed)}/metadata/online`, await token(), online, 204)
  }
  const done = Promise.all(
    Array.from({ length: callers }, async () => {
      const connection = await openHttpConnection(platform.baseUrl)
      while (isRunning) {
        await write(connection)
        written++
      }
      connection.close()
    }),
  )
  return {
    written: () => written,
    async stop() {
      isRunning = false
      await done
    },
  }
}
