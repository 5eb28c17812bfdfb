import { sleep } from '../../src/kernel/clock.ts'
import type { Figure } from '../report.ts'
import { applicationName, type BenchPlatform, root } from './bench-platform.ts'
import { idOf, isOnline, registrationOf } from './endpoints.ts'

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

/** Measures the activation of a filter that matches half of all endpoints, while endpoints are added and changed. */
export async function activation(bench: BenchPlatform, size: number): Promise<Figure[]> {
  const writer = keepWriting(bench, size)
  const filter = await createFilter(bench, 'Half of all', { 'metadata.online': true })
  const written = await writer.stop()
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
      name: 'Endpoints missing or wrong in its count, list and members',
      value: differences,
      unit: '',
      limit: { max: 0 },
    },
    { name: 'Registrations and metadata changes during the matching', value: written / filter.seconds, unit: '/s' },
  ]
}

const writesPerSecond = 20

function keepWriting({ ask }: BenchPlatform, size: number) {
  let [isRunning, written] = [true, 0]
  const onlineByEndpoint = new Map<number, boolean>()
  const write = async () => {
    const round = Math.floor(written / 2)
    if (written % 2 === 0) return await ask(`POST ${root}/endpoints`, registrationOf(size + 1 + round))
    // The same few hundred endpoints, spread over the register, alternately match and do not match.
    const n = 1 + ((round * 7919) % 300) * Math.floor(size / 300)
    const online = !(onlineByEndpoint.get(n) ?? isOnline(n))
    onlineByEndpoint.set(n, online)
    return await ask(`PUT ${root}/endpoints/${idOf(n)}/metadata/online`, online)
  }
  const done = (async () => {
    while (isRunning) {
      const { status, text } = await write()
      if (status >= 300) throw new Error(`${status} ${text}`)
      written++
      await sleep(1000 / writesPerSecond)
    }
  })()
  return {
    async stop() {
      isRunning = false
      await done
      return written
    },
  }
}
