/**
 * Measures the minimum work for results of the API: plain inserts of the same rows as a registration, and an HTTP server that does nothing
 * but run one SQL statement.
 */
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Sql } from '../../src/kernel/db.ts'
import { type BenchPlatform, connectAsSuperuser } from './bench-platform.ts'
import { idOf, metadataOf } from './endpoints.ts'
import { openHttpConnection } from './http-connection.ts'
import { quantile } from './measure.ts'
import { columnsOfOne } from './pages.ts'

const plainName = 'plain'
const rowsPerStatement = 500

/**
 * Inserts endpoints and tokens over two connections, with all their indexes and nothing else. Returns the number of endpoints per second.
 * A registration through the API additionally has task items, results, counts, a queue and checks.
 */
export async function plainInserts({ directory, tenantId }: BenchPlatform, from: number, count: number) {
  const sql = connect(await connectAsSuperuser(directory), { max: 4, name: 'bench-plain', statementSeconds: 0 })
  const pages = Array.from({ length: count / rowsPerStatement }, (_, page) =>
    Array.from({ length: rowsPerStatement }, (_, index) => newRow(from + page * rowsPerStatement + index)),
  )
  const began = performance.now()
  const insertPages = async () => {
    for (let page = pages.pop(); page; page = pages.pop()) {
      const rows = page
      await sql.begin((tx) => insertRows(tx, tenantId, rows))
    }
  }
  await Promise.all([insertPages(), insertPages()])
  const seconds = (performance.now() - began) / 1000
  await sql`delete from register.endpoints where application_name = ${plainName}`
  await sql`delete from tokens.tokens where application_name = ${plainName}`
  await sql`delete from tokens.endpoints where application_name = ${plainName}`
  await sql.end()
  return count / seconds
}

const newRow = (n: number) => ({
  id: `plain-${idOf(n)}`,
  metadata: metadataOf(n),
  token: randomUUID(),
  hash: createHash('sha256').update(String(n)).digest('base64url'),
})

async function insertRows(sql: Sql, tenantId: string, rows: ReturnType<typeof newRow>[]) {
  const insertedRows = sql`jsonb_to_recordset(${sql.json(rows)}) as g(id text, metadata jsonb, token text, hash text)`
  await sql`
    insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
      created_date, metadata, metadata_updated_date)
    select id, ${tenantId}, ${plainName}, ${plainName}, now(), now(), metadata, now() from ${insertedRows}`
  await sql`insert into tokens.endpoints select id, ${tenantId}, ${plainName} from ${insertedRows}`
  await sql`
    insert into tokens.tokens (endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status, created_date)
    select id, token, ${tenantId}, ${plainName}, hash, 'Inactive', now() from ${insertedRows}`
}

const bareRounds = 2000

/** Returns the median response time of a bare HTTP server in a separate process. The server sends the row of the plain statement. */
export async function bareRead({ directory }: BenchPlatform): Promise<number> {
  const child = spawn(process.execPath, [import.meta.filename, 'bare', directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())))
  const connection = await openHttpConnection(url)
  const times: number[] = []
  for (let round = 0; round < bareRounds; round++) {
    const began = performance.now()
    await connection.ask('GET', `/${idOf(1 + ((round * 6151) % 5000))}`, 'none')
    times.push(performance.now() - began)
  }
  connection.close()
  child.kill()
  return quantile(times.slice(bareRounds / 2), 0.5)
}

if (process.argv[2] === 'bare') {
  const sql = connect(await connectAsSuperuser(process.argv[3]!), { max: 2, name: 'bench-bare', statementSeconds: 0 })
  const server = createServer(async ({ url = '' }, response) => {
    const [row] = await sql`select ${sql(columnsOfOne)} from register.endpoints where endpoint_id = ${url.slice(1)}`
    const body = JSON.stringify(row)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
  })
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}
