-- Inserts one command, like `commands.invoke`, which takes many. For one command, simple statements need half of the processor time: a
-- statement over arrays takes longer to start than to run. `new_id` is null if the endpoint has `outstanding_max` outstanding commands.
create function commands.invoke_one(
  for_tenant text, for_endpoint text, application_name text, type text, payload text, size integer, lifetime_ms bigint, is_kept boolean,
  waiting_node text, task_id text, outstanding_max integer)
returns table (place integer, new_id integer, new_at timestamptz) language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_variable
declare
  locked_at timestamptz;
  outstanding integer;
begin
  -- The time is taken after the lock, so that the times of an endpoint's commands have the order of their ids.
  update commands.endpoints e set last_id = case when e.last_id > 2146483647 then 2147483647 else e.last_id + 1 end, last_at = clock_timestamp()
  where e.tenant_id = for_tenant and e.endpoint_id = for_endpoint
  returning e.last_id, e.last_at into new_id, locked_at;
  if not found then
    insert into commands.endpoints as e (tenant_id, endpoint_id, last_id, last_at)
    values (for_tenant, for_endpoint, 1, clock_timestamp())
    on conflict on constraint endpoints_pkey do update
    set last_id = case when e.last_id > 2146483647 then 2147483647 else e.last_id + 1 end, last_at = clock_timestamp()
    returning e.last_id, e.last_at into new_id, locked_at;
  end if;

  -- A statement of its own sees all commands of transactions that had the row lock before. `order by` leaves one index to choose from.
  select count(*) into outstanding from (
    select 1 from commands.commands c
    where c.tenant_id = for_tenant and c.endpoint_id = for_endpoint and c.status_code is null and c.ends_at > locked_at
    order by c.ends_at limit outstanding_max) o;

  place := 1;
  new_at := date_trunc('milliseconds', locked_at);
  if new_id = 2147483647 then
    -- The endpoint has used up its ids. `commands.invoke` recognizes this by the same number.
    new_id := null;
  elsif outstanding >= outstanding_max and task_id is null then
    update commands.endpoints e set last_id = new_id - 1 where e.tenant_id = for_tenant and e.endpoint_id = for_endpoint;
    new_id := null;
  else
    insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, payload, size,
      created_at, ends_at, kept, waiting_node, task_id)
    values (for_tenant, for_endpoint, new_id, application_name, type, payload, size, new_at,
      new_at + case when outstanding < outstanding_max then lifetime_ms else 0 end * interval '1 millisecond', is_kept,
      waiting_node, task_id);
  end if;
  return next;
end $$;
