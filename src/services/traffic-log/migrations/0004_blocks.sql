-- Records in two forms (docs/adr/0026-traffic-log-blocks.md): a batch is what one commit has of a tenant; the packer turns batches
-- into blocks of about 128 records of an hour. A record is in exactly one of both, and counts and hourly are of blocks only.
-- Times are microseconds since 1970.

-- A short number for each endpoint that has records in blocks.
create table traffic_log.endpoints (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  endpoint_no bigint generated always as identity,
  -- Days since 1970. A number that no block has any more is deleted by it.
  used_day integer not null,
  primary key (tenant_id, endpoint_id)
);
create index endpoints_by_number on traffic_log.endpoints (endpoint_no);

create table traffic_log.batches (
  tenant_id text collate "C" not null,
  -- Chosen by the writer, so that a repeated write is recognised.
  batch_id text collate "C" not null,
  first_at bigint not null,
  last_at bigint not null,
  n integer not null,
  -- [{a: application, v: version, x: extension, o: outbound, n: records, b: bytes of payloads as sent}]
  groups jsonb not null,
  -- Hashes of the endpoint ids, to pass over batches without decoding them.
  endpoint_hashes integer[] not null,
  data bytea not null,
  primary key (tenant_id, batch_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
alter table traffic_log.batches alter column data set storage external, alter column data set statistics 0,
  alter column groups set statistics 0, alter column endpoint_hashes set statistics 0;

-- A partition for each day (UTC).
create table traffic_log.blocks (
  day integer not null,
  tenant_id text collate "C" not null,
  block_id bigint generated always as identity,
  first_at bigint not null,
  last_at bigint not null,
  n integer not null,
  groups jsonb not null,
  -- Of each record, in its order.
  endpoints integer[] not null,
  -- Request ids modulo 2^31, -1 for none; null if no record has one.
  request_ids integer[],
  data bytea not null,
  primary key (tenant_id, day, block_id)
) partition by range (day);
alter table traffic_log.blocks alter column data set storage external;
create index blocks_by_end on traffic_log.blocks (tenant_id, last_at);
create index blocks_by_start on traffic_log.blocks (tenant_id, first_at);
create index blocks_of_endpoint on traffic_log.blocks using gin (endpoints) with (gin_pending_list_limit = 512);

-- What the blocks of an hour take, for the limit in bytes.
create table traffic_log.stored (
  tenant_id text collate "C" not null,
  since timestamptz not null,
  records bigint not null,
  bytes bigint not null,
  primary key (tenant_id, since)
);

-- Existing rows become blocks in the background and are counted again then. The table stays for nodes of the previous version.
insert into traffic_log.hourly as known (tenant_id, since, application_name, version_name, outbound, messages, bytes)
select tenant_id, date_bin('1 hour', created_at, timestamptz 'epoch') as hour, application_name, version_name, outbound, count(*),
  sum(traffic_log.payload_bytes(payload, additional_metadata))
from traffic_log.records where created_at >= (select counted_until from traffic_log.counting)
group by tenant_id, hour, application_name, version_name, outbound
on conflict (tenant_id, since, application_name, version_name, outbound)
  do update set messages = known.messages + excluded.messages, bytes = known.bytes + excluded.bytes;
delete from traffic_log.counts;
-- Without this row a node of the previous version counts nothing.
delete from traffic_log.counting;
