-- Collation C: ids and names are ASCII, and their order is the same on every machine. No table has a key without tenant_id, so
-- that all of them can be distributed by it.
create schema traffic_log;

-- A partition for each day (UTC), made ahead and dropped by age: no row is ever deleted singly, but those of a deleted tenant.
-- The wide, rarely looked at columns come last.
create table traffic_log.records (
  created_at timestamptz not null,
  request_id bigint,
  outbound boolean not null,
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  application_name text collate "C" not null,
  version_name text collate "C" not null,
  extension text collate "C" not null,
  correlation_id text collate "C" not null,
  resource_path text not null,
  -- JSON text as it was written: nobody asks for what is inside.
  additional_metadata text,
  payload text not null
) partition by range (created_at);
create index records_of_tenant on traffic_log.records (tenant_id, created_at);
-- The hash of an id is 8 bytes instead of 36: half the index, and the costliest of them, because its rows come in any order.
create index records_of_endpoint on traffic_log.records (hashtextextended(endpoint_id, 0), created_at);
-- For the counting, which walks along the time of all tenants. It costs next to nothing where rows come in the order of time.
create index records_in_time on traffic_log.records using brin (created_at) with (pages_per_range = 16);

-- Exact numbers of records of everything before counted_until: of each five minutes, and of each hour, so that a week is the sum of
-- a few hundred rows.
create table traffic_log.counts (
  tenant_id text collate "C" not null,
  minutes smallint not null check (minutes in (5, 60)),
  since timestamptz not null,
  application_name text collate "C" not null,
  version_name text collate "C" not null,
  extension text collate "C" not null,
  count integer not null,
  primary key (tenant_id, minutes, since, application_name, version_name, extension)
) with (fillfactor = 80);

-- How far the counting is. closed_until: no record older than this is written any more; a late one gets this as its time.
-- barrier: the transactions before it may not know closed_until yet.
create table traffic_log.counting (
  id smallint primary key check (id = 1),
  closed_until timestamptz not null,
  counted_until timestamptz not null,
  barrier xid8
);
insert into traffic_log.counting values (1, to_timestamp(0), to_timestamp(0));

-- Whoever writes records asks this first, in the same transaction. The transaction is numbered before it reads: so everyone
-- whose number is above a barrier that was set after closed_until has seen it.
create function traffic_log.enter() returns timestamptz language plpgsql as $$
begin
  perform pg_current_xact_id();
  return (select closed_until from traffic_log.counting);
end $$;

-- Who was refused, many of the same kind in one second as one row. tenant_id is empty where nobody could say.
create table traffic_log.refusals (
  created_at timestamptz not null,
  count bigint not null,
  tenant_id text collate "C" not null,
  reason text collate "C" not null,
  transport text collate "C" not null,
  address text collate "C",
  endpoint_id text collate "C",
  version_name text,
  client_id text,
  username text,
  detail text
) partition by range (created_at);
create index refusals_of_tenant on traffic_log.refusals (tenant_id, created_at);

-- Endpoints that are no more: whoever may see an endpoint of the same id does not see what was before.
create table traffic_log.unregistered (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  unregistered_at timestamptz not null,
  primary key (tenant_id, endpoint_id)
);
create index unregistered_age on traffic_log.unregistered (unregistered_at);
