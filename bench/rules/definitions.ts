/** Inserts rules and triggers directly into the database. The platform runs them only after its next start. */
import type { Db } from '../../src/kernel/db.ts'

/** Adds rules, each with a trigger on samples of `application`. Without `application`, the triggers name applications that do not exist. */
export async function insertRules(
  db: Db,
  tenantId: string,
  options: { rules: number; application: string | undefined; expression: string },
) {
  const application = options.application === undefined ? db.sql`'other-' || n` : db.sql`${options.application}::text`
  await db.tx(async (sql) => {
    await sql.withoutTimeLimit()
    await sql`create temporary table added on commit drop as
      select n, gen_random_uuid() as rule_id, gen_random_uuid() as trigger_id from generate_series(1, ${options.rules}::int) as n`
    await sql`
      insert into rules.rules (id, tenant_id, name, expression, state, writer_type, writer_id, created_at, updated_at)
      select rule_id, ${tenantId}, 'rule ' || n, ${options.expression}, 'ENABLED', 'client', 'bench', now(), now() from added`
    await sql`
      insert into rules.triggers (id, tenant_id, type, name, application_name, fields, created_at, updated_at)
      select trigger_id, ${tenantId}, 'endpoint-data-samples-received', 'trigger ' || n, ${application}, '{}', now(), now()
      from added`
    await sql`
      insert into rules.rule_triggers (rule_id, trigger_id, tenant_id, position)
      select rule_id, trigger_id, ${tenantId}, 1 from added`
    await sql`
      insert into rules.revisions (tenant_id, revision, changed_xid) values (${tenantId}, 1, pg_current_xact_id())
      on conflict (tenant_id) do update set revision = rules.revisions.revision + 1`
  })
}

export async function deleteRules(db: Db) {
  await db.sql`truncate rules.rules, rules.triggers, rules.rule_triggers, rules.rule_actions, rules.rule_versions, rules.events`
}
