-- The time of both functions grows with the number of commands in a call. Before, joins between the rows of a call compared each with
-- each. Plans are made once for each connection, often while the table is empty and all indexes seem equal: `order by` and `case` leave
-- one index to choose from. A plan with the wrong one took 1 ms for each command.

-- Inserts commands with the next ids of their endpoints, and returns one row for each, in the order given. The id is null if the endpoint
-- has `outstanding_max` outstanding commands; commands of tasks are inserted anyway, as expired. A function saves round trips: each of
-- its statements has its own snapshot, so the count sees all commands of transactions that had the row locks before.
create or replace function commands.invoke(
  tenant_ids text[], endpoint_ids text[], application_names text[], types text[], payloads text[], sizes integer[],
  lifetimes_ms bigint[], keeps boolean[], waiting_nodes text[], task_ids text[], outstanding_max integer)
returns table (place bigint, new_id integer, new_at timestamptz) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  -- For each endpoint, in their order: the greatest id before this call, and the time when its row was locked.
  last_ids integer[];
  lock_times timestamptz[];
begin
  insert into commands.endpoints (tenant_id, endpoint_id, last_at)
  select g.tenant_id, g.endpoint_id, statement_timestamp()
  from (select distinct * from unnest(tenant_ids, endpoint_ids) as u(tenant_id, endpoint_id)) g
  where not exists (
    select 1 from commands.endpoints e where e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id)
  order by g.tenant_id collate "C", g.endpoint_id collate "C"
  on conflict do nothing;

  -- The rows are locked in one order by all callers. A row that another transaction has just inserted is visible only to a new statement.
  -- The time is taken after the lock, so that the times of an endpoint's commands have the order of their ids. An endpoint that has used
  -- up its ids keeps the greatest one.
  with given as (
    select g.tenant_id collate "C" as tenant_id, g.endpoint_id collate "C" as endpoint_id, count(*)::integer as n
    from unnest(tenant_ids, endpoint_ids) as g(tenant_id, endpoint_id)
    group by 1, 2 order by 1, 2),
  locked as (
    update commands.endpoints e
    set last_id = case when e.last_id > 2146483647 then 2147483647 else e.last_id + g.n end, last_at = clock_timestamp()
    from given g where e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id
    returning e.tenant_id, e.endpoint_id, e.last_id - g.n as last_id, e.last_id = 2147483647 as is_used_up, e.last_at)
  select array_agg(case when not is_used_up then last_id end order by tenant_id, endpoint_id),
    array_agg(last_at order by tenant_id, endpoint_id)
  into last_ids, lock_times from locked;

  return query
    with given as (
      select g.*, dense_rank() over (order by g.tenant_id collate "C", g.endpoint_id collate "C") as nth_endpoint,
        row_number() over (partition by g.tenant_id collate "C", g.endpoint_id collate "C" order by g.place) as nth
      from unnest(tenant_ids, endpoint_ids, application_names, types, payloads, sizes, lifetimes_ms, keeps, waiting_nodes,
        task_ids) with ordinality as g(tenant_id, endpoint_id, application_name, command_type, payload, size, lifetime_ms,
          kept, waiting_node, task_id, place)),
    counted as (
      select g.*, last_ids[nth_endpoint] as last_id, lock_times[nth_endpoint] as locked_at,
        case when nth = 1 then (
          select count(*) from (
            select 1 from commands.commands c
            where c.tenant_id = g.tenant_id and c.endpoint_id = g.endpoint_id and c.status_code is null
              and c.ends_at > lock_times[nth_endpoint]
            order by c.ends_at limit outstanding_max) o) end as outstanding
      from given g),
    checked as (
      select c.*, max(outstanding) over (partition by nth_endpoint) + nth <= outstanding_max as has_room from counted c),
    numbered as materialized (
      select c.*, has_room or task_id is not null as is_made,
        (last_id + count(*) filter (where has_room or task_id is not null) over (
          partition by nth_endpoint order by nth))::integer as command_id
      from checked c),
    made as (
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, payload, size,
        created_at, ends_at, kept, waiting_node, task_id)
      select tenant_id, endpoint_id, command_id, application_name, command_type, payload, size, made_at,
        made_at + case when has_room then lifetime_ms else 0 end * interval '1 millisecond', kept, waiting_node, task_id
      from numbered, date_trunc('milliseconds', locked_at) as made_at
      where is_made and command_id is not null),
    -- Ids of commands without room are given to the next ones.
    returned as (
      update commands.endpoints e set last_id = r.last_id
      from (
        select tenant_id, endpoint_id, max(command_id) as last_id from numbered where last_id is not null
        group by tenant_id, endpoint_id having not bool_and(is_made)) r
      where e.tenant_id = r.tenant_id and e.endpoint_id = r.endpoint_id)
    select place, case when is_made then command_id end, date_trunc('milliseconds', locked_at)
    from numbered order by place;
end $$;

-- Stores results of outstanding commands, the first one of each, and returns these commands; with their payload if it is asked for.
create or replace function commands.store_results(
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
      and c.command_type = r.command_type
      and case when c.status_code is null and c.ends_at > statement_timestamp() then true else false end
    returning c.tenant_id, c.endpoint_id, c.command_id, c.application_name, c.command_type, c.waiting_node,
      case when with_payload then coalesce(c.payload, (
        select t.payload from commands.tasks t where t.tenant_id = c.tenant_id and t.task_id = c.task_id)) end;
end $$;

-- Each invocation updates the row of its endpoint. With free space in the page, no index is written.
alter table commands.endpoints set (fillfactor = 70);
