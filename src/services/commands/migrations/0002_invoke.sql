-- Inserts commands with the next ids of their endpoints, and returns one row for each, in the order given. The id is null if the endpoint
-- has `outstanding_max` outstanding commands; commands of tasks are inserted anyway, as expired. A function saves round trips: each of
-- its statements has its own snapshot, so the count sees all commands of transactions that had the row locks before.
create function commands.invoke(
  tenant_ids text[], endpoint_ids text[], application_names text[], types text[], payloads text[], sizes integer[],
  lifetimes_ms bigint[], keeps boolean[], waiting_nodes text[], task_ids text[], outstanding_max integer)
returns table (place bigint, new_id integer, new_at timestamptz) language plpgsql as $$
#variable_conflict use_column
declare
  locked_at timestamptz;
begin
  insert into commands.endpoints (tenant_id, endpoint_id, last_at)
  select g.tenant_id, g.endpoint_id, statement_timestamp()
  from (select distinct * from unnest(tenant_ids, endpoint_ids) as u(tenant_id, endpoint_id)) g
  where not exists (
    select 1 from commands.endpoints e where e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id)
  order by g.tenant_id collate "C", g.endpoint_id collate "C"
  on conflict do nothing;

  -- The rows are locked in one order by all callers. A row that another transaction has just inserted is visible only to a new statement.
  perform 1 from commands.endpoints e
  where (e.tenant_id, e.endpoint_id) in (select * from unnest(tenant_ids, endpoint_ids))
  order by e.tenant_id, e.endpoint_id for update of e;

  -- The time after the locks, so that the times of an endpoint's commands have the order of their ids.
  locked_at := clock_timestamp();
  return query
    with given as (
      select g.*, row_number() over (partition by g.tenant_id, g.endpoint_id order by g.place) as nth
      from unnest(tenant_ids, endpoint_ids, application_names, types, payloads, sizes, lifetimes_ms, keeps, waiting_nodes,
        task_ids) with ordinality as g(tenant_id, endpoint_id, application_name, command_type, payload, size, lifetime_ms,
          kept, waiting_node, task_id, place)),
    before as (
      select e.tenant_id, e.endpoint_id, e.last_id, (
        select count(*) from commands.commands c
        where c.tenant_id = e.tenant_id and c.endpoint_id = e.endpoint_id and c.status_code is null
          and c.ends_at > locked_at) as outstanding
      from commands.endpoints e
      where (e.tenant_id, e.endpoint_id) in (select tenant_id, endpoint_id from given)),
    allowed as (
      select g.*, (b.last_id + g.nth)::integer as command_id, b.outstanding + g.nth <= outstanding_max as has_room
      from given g join before b on b.tenant_id = g.tenant_id and b.endpoint_id = g.endpoint_id
      where b.last_id + g.nth <= 2147483647 and (b.outstanding + g.nth <= outstanding_max or g.task_id is not null)),
    made as (
      insert into commands.commands (tenant_id, endpoint_id, command_id, application_name, command_type, payload, size,
        created_at, ends_at, kept, waiting_node, task_id)
      select tenant_id, endpoint_id, command_id, application_name, command_type, payload, size, made_at,
        made_at + case when has_room then lifetime_ms else 0 end * interval '1 millisecond', kept, waiting_node, task_id
      from allowed, date_trunc('milliseconds', locked_at) as made_at),
    numbered as (
      update commands.endpoints e set last_id = a.last_id, last_at = locked_at
      from (select tenant_id, endpoint_id, max(command_id) as last_id from allowed group by 1, 2) a
      where e.tenant_id = a.tenant_id and e.endpoint_id = a.endpoint_id)
    select g.place, a.command_id, date_trunc('milliseconds', locked_at)
    from given g left join allowed a on a.place = g.place order by g.place;
end $$;
