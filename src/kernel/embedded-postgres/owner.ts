/**
 * Creates the role that the platform uses. It owns the database and everything in it, and is not a superuser. The superuser
 * that initdb created remains for administration through the local socket.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { Client } from 'pg'
import { layout, writeDurably } from './cluster.ts'
import type { PostgresConnection } from './connection.ts'

export const owner = 'waypost_owner'

/**
 * Returns the password of the role. It is undefined if the directory was last used by a Waypost version that connected as superuser. The
 * next start creates the role.
 */
export function readOwnerPassword(directory: string): string | undefined {
  const { ownerPassword } = layout(directory)
  return existsSync(ownerPassword) ? readFileSync(ownerPassword, 'utf8').trim() : undefined
}

/** Number of statements in one transaction. It is limited, because each ALTER holds locks until the transaction ends. */
const statementsPerTransaction = 100

/**
 * Creates the role, and makes it the owner of everything that the superuser owns. In a directory of an older version, that is every object.
 * If the change of owners is interrupted, the next start finishes it.
 */
export async function ensureOwner(directory: string, administration: PostgresConnection): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ ...administration, application_name: 'waypost-owner' })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [owner])
    if (rowCount === 0 || readOwnerPassword(directory) === undefined)
      await createRole(client, rowCount === 0 ? 'create' : 'alter', directory)
    const { rows } = await client.query<{ statement: string }>(foreignOwnership, [owner])
    for (let start = 0; start < rows.length; start += statementsPerTransaction)
      await client.query(
        rows
          .slice(start, start + statementsPerTransaction)
          .map(({ statement }) => statement)
          .join(';'),
      )
  } finally {
    await client.end()
  }
}

/** Creates the role, then writes its password. If the password file is missing, the next start sets a new password. */
async function createRole(client: Client, command: 'create' | 'alter', directory: string) {
  const secret = randomBytes(24).toString('base64url')
  const attributes = `login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${secret}'`
  await client.query(`${command} role ${owner} ${attributes}`)
  writeDurably(layout(directory).ownerPassword, secret)
}

/**
 * A query that returns an ALTER … OWNER statement for each object that belongs to another role. Sequences of columns, row types and
 * indexes get the owner of their tables. Objects of an extension belong to the extension.
 */
const foreignOwnership = `
  with role as (select oid, rolname from pg_roles where rolname = $1),
    ours as (
      select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
    )
  select format('alter database %I owner to %I', d.datname, role.rolname) as statement
    from pg_database d, role where d.datname = current_database() and d.datdba <> role.oid
  union all
  select format('alter schema %I owner to %I', n.nspname, role.rolname) from pg_namespace n, role
    where n.oid in (select oid from ours) and n.nspname <> 'public' and n.nspowner <> role.oid
  union all
  select format('alter %s %s owner to %I', kind.name, c.oid::regclass, role.rolname)
    from pg_class c
      join (values ('r', 'table'), ('p', 'table'), ('v', 'view'), ('m', 'materialized view'), ('f', 'foreign table'),
        ('S', 'sequence')) as kind (code, name) on kind.code = c.relkind::text, role
    where c.relnamespace in (select oid from ours) and c.relowner <> role.oid
      and not exists (select from pg_depend p where p.classid = 'pg_class'::regclass and p.objid = c.oid
        and (p.deptype = 'e' or c.relkind = 'S' and p.deptype in ('a', 'i')))
  union all
  select format('alter routine %s owner to %I', f.oid::regprocedure, role.rolname) from pg_proc f, role
    where f.pronamespace in (select oid from ours) and f.proowner <> role.oid
      and not exists (select from pg_depend p where p.classid = 'pg_proc'::regclass and p.objid = f.oid and p.deptype = 'e')
  union all
  select format('alter type %s owner to %I', t.oid::regtype, role.rolname)
    from pg_type t left join pg_class c on c.oid = t.typrelid, role
    where t.typnamespace in (select oid from ours) and t.typowner <> role.oid and t.typtype in ('b', 'c', 'd', 'e', 'r')
      and t.typcategory <> 'A' and (c.oid is null or c.relkind = 'c')
      and not exists (select from pg_depend p where p.classid = 'pg_type'::regclass and p.objid = t.oid and p.deptype = 'e')`
