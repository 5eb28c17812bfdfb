-- The rows are found by index, also while tables are small or their statistics old: scans of a thousand endpoints took half of the time of
-- a single command. Plans are made once for each connection.
alter function commands.invoke(
  text[], text[], text[], text[], text[], integer[], bigint[], boolean[], text[], text[], integer)
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan;

-- Stores results of outstanding commands, the first one of each, and returns these commands; with their payload if it is asked for.
create function commands.store_results(
  tenant_ids text[], endpoint_ids text[], types text[], ids integer[], status_codes smallint[], reason_phrases text[],
  results text[], with_payload boolean)
returns table (
  tenant_id text, endpoint_id text, command_id integer, application_name text, command_type text, waiting_node text, payload text)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    update commands.commands c
    set status_code = r.status_code, reason_phrase = r.reason_phrase, result = r.result, ends_at = statement_timestamp()
    from (
      select distinct on (tenant_id, endpoint_id, command_id, command_type) *
      from unnest(tenant_ids, endpoint_ids, types, ids, status_codes, reason_phrases, results)
        with ordinality as u(tenant_id, endpoint_id, command_type, command_id, status_code, reason_phrase, result, place)
      order by tenant_id, endpoint_id, command_id, command_type, place) r
    where c.tenant_id = r.tenant_id and c.endpoint_id = r.endpoint_id and c.command_id = r.command_id
      and c.command_type = r.command_type and c.status_code is null and c.ends_at > statement_timestamp()
    returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, c.waiting_node,
      case when with_payload then coalesce(c.payload, (
        select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) end;
end $$;
