-- The ranges of a search are one statement with a kept plan: a loop of statements took twice as long for one of a million endpoints, and
-- forty times as long for a part that no endpoint has.
create or replace function register.search_candidates(tenant text, applications text[], words text[], wanted integer[],
  first_seq bigint, last_seq bigint, descending boolean, at_most bigint)
  returns table (number bigint) language plpgsql stable rows 1000
  set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off set enable_memoize = off
  set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $$
begin
  return query
    select part.seq from generate_series(case when descending then last_seq >> 14 else first_seq >> 14 end,
        case when descending then first_seq >> 14 else last_seq >> 14 end, case when descending then -1 else 1 end) as range
      cross join lateral (
        select d.seq from register.documents d
        where d.grams @> array(select gram # ((range * 2654435761) & 2147483647)::integer from unnest(wanted) as gram)
          and d.tenant_id || '' = tenant and d.application_name || '' = any(applications)
          and d.seq + 0 between first_seq and last_seq and strpos(d.text, words[1]) > 0
          and (words[2] is null or strpos(d.text, words[2]) > 0) and (words[3] is null or strpos(d.text, words[3]) > 0)
          and (words[4] is null or strpos(d.text, words[4]) > 0) and (words[5] is null or strpos(d.text, words[5]) > 0)
        order by case when descending then -d.seq else d.seq end limit at_most) part
    limit at_most;
end
$$;

-- Values of the metadata keys that the application counts, as JSON texts, to replace them in `value_counts`.
alter table register.documents add column counted jsonb not null default '{}';

-- Numbers of endpoints by value. The empty key has the connection as in `activity`: 1 disconnected, 2 connected. The background task of the
-- directory is the only writer.
create table register.value_counts (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  key text collate "C" not null,
  value text collate "C" not null,
  count bigint not null,
  primary key (tenant_id, application_name, key, value)
) with (fillfactor = 80);
insert into register.value_counts (tenant_id, application_name, key, value, count)
select tenant_id, application_name, '', connection::text, count(*) from register.activity
where connection in (1, 2) group by 1, 2, 4;

insert into register.directory_queue (tenant_id, application_name, seq, whole)
select tenant_id, application_name, seq, true from register.endpoints;
