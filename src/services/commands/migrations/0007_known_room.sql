-- Most commands need no count of the outstanding commands of their endpoint. `outstanding_at_most` is the last exact count, plus the commands
-- that were stored since; null if they were never counted. It is changed only under the lock of the row. Results and expiry do not change
-- it, so the commands of an endpoint are counted again only when this number reaches the limit.
alter table commands.endpoints add column outstanding_at_most integer;

-- Inserts commands of different endpoints, one for each, and returns those that it inserted. It leaves out the endpoints whose commands must
-- be counted, that never had a command, or that have nearly used up their ids; `commands.invoke` inserts these. It does not count, rank and
-- join, and needs half of the processor time of `commands.invoke`. `made_at` is the time after the lock of the endpoint.
create function commands.invoke_known(
  tenant_ids text[], endpoint_ids text[], application_names text[], types text[], payloads text[], sizes integer[],
  lifetimes_ms bigint[], keeps boolean[], waiting_nodes text[], outstanding_max integer)
returns table (place bigint, new_id integer, new_at timestamptz) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
    with locked as (
      update commands.endpoints e
      set last_id = e.last_id + 1, last_at = clock_timestamp(), outstanding_at_most = e.outstanding_at_most + 1
      -- The rows are locked in one order by all callers.
      from (
        select * from unnest(tenant_ids, endpoint_ids, application_names, types, payloads, sizes, lifetimes_ms, keeps, waiting_nodes)
          with ordinality as u(tenant_id, endpoint_id, application_name, command_type, payload, size, lifetime_ms, kept, waiting_node, place)
        order by tenant_id collate "C", endpoint_id collate "C") g
      where e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id
        and case when e.outstanding_at_most < outstanding_max and e.last_id < 2146483647 then true else false end
      returning g.*, e.last_id as command_id, date_trunc('milliseconds', e.last_at) as made_at),
    made as (
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, payload, size,
        created_at, ends_at, kept, waiting_node)
      select tenant_id, endpoint_id, command_id, application_name, command_type, payload, size, made_at,
        made_at + lifetime_ms * interval '1 millisecond', kept, waiting_node
      from locked)
    select place, command_id, made_at from locked;
end $$;

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
    -- Ids of commands without room are given to the next ones. The count is kept for `commands.invoke_known`.
    counted_now as (
      update commands.endpoints e
      set last_id = coalesce(r.last_id, e.last_id), outstanding_at_most = r.outstanding
      from (
        select tenant_id, endpoint_id, max(command_id) as last_id,
          (max(outstanding) + count(*) filter (where is_made))::integer as outstanding
        from numbered group by tenant_id, endpoint_id) r
      where e.tenant_id = r.tenant_id and e.endpoint_id = r.endpoint_id)
    select place, case when is_made then command_id end, date_trunc('milliseconds', locked_at)
    from numbered order by place;
end $$;

-- Inserts one command, like `commands.invoke`, which takes many. For one command, simple statements need half of the processor time: a
-- statement over arrays takes longer to start than to run. `new_id` is null if the endpoint has `outstanding_max` outstanding commands.
create or replace function commands.invoke_one(
  for_tenant text, for_endpoint text, application_name text, type text, payload text, size integer, lifetime_ms bigint, is_kept boolean,
  waiting_node text, task_id text, outstanding_max integer)
returns table (place integer, new_id integer, new_at timestamptz) language plpgsql
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_variable
declare
  locked_at timestamptz;
  at_most integer;
  outstanding integer := 0;
begin
  -- The time is taken after the lock, so that the times of an endpoint's commands have the order of their ids.
  update commands.endpoints e
  set last_id = case when e.last_id > 2146483647 then 2147483647 else e.last_id + 1 end, last_at = clock_timestamp(),
    outstanding_at_most = e.outstanding_at_most + 1
  where e.tenant_id = for_tenant and e.endpoint_id = for_endpoint
  returning e.last_id, e.last_at, e.outstanding_at_most into new_id, locked_at, at_most;
  if not found then
    insert into commands.endpoints as e (tenant_id, endpoint_id, last_id, last_at)
    values (for_tenant, for_endpoint, 1, clock_timestamp())
    on conflict on constraint endpoints_pkey do update
    set last_id = case when e.last_id > 2146483647 then 2147483647 else e.last_id + 1 end, last_at = clock_timestamp(),
      outstanding_at_most = e.outstanding_at_most + 1
    returning e.last_id, e.last_at, e.outstanding_at_most into new_id, locked_at, at_most;
  end if;

  if at_most is null or at_most > outstanding_max then
    -- A statement of its own sees all commands of transactions that had the row lock before. `order by` leaves one index to choose from.
    select count(*) into outstanding from (
      select 1 from commands.commands c
      where c.tenant_id = for_tenant and c.endpoint_id = for_endpoint and c.status_code is null and c.ends_at > locked_at
      order by c.ends_at limit outstanding_max) o;
    update commands.endpoints e
    set outstanding_at_most = outstanding + 1,
      last_id = case when outstanding >= outstanding_max and task_id is null and new_id < 2147483647 then new_id - 1 else new_id end
    where e.tenant_id = for_tenant and e.endpoint_id = for_endpoint;
  end if;

  place := 1;
  new_at := date_trunc('milliseconds', locked_at);
  if new_id = 2147483647 or (outstanding >= outstanding_max and task_id is null) then
    -- There is no room, or the endpoint has used up its ids. `commands.invoke` recognizes the latter by the same number.
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
