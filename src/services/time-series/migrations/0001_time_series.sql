create schema time_series;

-- Every key holds what the table could be distributed by: endpoint_no, endpoint_id or tenant_id.

-- A short number for each endpoint that has data; one that is registered anew gets another.
create table time_series.endpoints (
  endpoint_id text not null,
  endpoint_no bigint generated always as identity,
  tenant_id text not null,
  application_name text not null,
  primary key (endpoint_id)
);
create index endpoints_of_application on time_series.endpoints (tenant_id, application_name, endpoint_id);
create index endpoints_by_number on time_series.endpoints (endpoint_no);

-- Numbers that nobody has any more: what is packed of them is still to be deleted.
create table time_series.gone_endpoints (
  endpoint_no bigint primary key,
  endpoint_id text not null,
  -- What was written since is of an endpoint that was registered anew under the id.
  cutoff bigint not null,
  gone_date timestamptz not null
);

-- One value of one series of an application.
create table time_series.series (
  tenant_id text not null,
  application_name text not null,
  name text not null,
  value_name text not null,
  -- Numbers stay far below 2^31, but an identity of a distributed table must be a bigint.
  series_id bigint generated always as identity,
  primary key (tenant_id, application_name, name, value_name)
);

-- The series of the values of a sample, in their order: a device sends the same ones again and again.
create table time_series.sets (
  tenant_id text not null,
  application_name text not null,
  series_ids integer[] not null,
  set_id bigint generated always as identity,
  primary key (tenant_id, application_name, series_ids)
);
create index sets_by_number on time_series.sets (set_id);

-- Samples as they came, in slots of arrival. Nothing is updated: of two with the same time the one of the later slot counts,
-- and within a slot the one written later.
create sequence time_series.slot_numbers as integer;
create table time_series.slots (
  slot integer primary key default nextval('time_series.slot_numbers'),
  -- ready: made ahead; open: written to; closed: waits to be packed; packed: its chunks hold it all, and the partition goes.
  state text not null check (state in ('ready', 'open', 'closed', 'packed')),
  opened_date timestamptz
);
create unique index one_open_slot on time_series.slots (state) where state = 'open';

create table time_series.samples (
  slot integer not null,
  endpoint_no bigint not null,
  ts bigint not null,
  set_id integer not null,
  -- Microseconds since 1970, no two the same in one process.
  written bigint not null,
  -- In the order of the set; NaN where x has something.
  v float8[] not null,
  -- What is not a number, as a JSON object by its place from 0; null where all are. Text, because jsonb cannot hold \u0000.
  x text
) partition by list (slot);
create index samples_by_time on time_series.samples (endpoint_no, ts);
create index samples_by_writing on time_series.samples using brin (written) with (pages_per_range = 32);

-- Packed points of one value of a series, for a day of UTC; the slot that they came from decides between two of the same time.
create table time_series.chunks (
  endpoint_no bigint not null,
  series_id integer not null,
  day integer not null,
  slot integer not null,
  -- A busy day is more than one.
  part integer not null,
  n integer not null,
  t_min bigint not null,
  t_max bigint not null,
  -- Of its numbers; null when there are none.
  v_min float8,
  v_max float8,
  v_sum float8,
  data bytea not null,
  primary key (endpoint_no, series_id, day, slot, part)
) partition by range (day);
-- What cannot be compressed again is not tried.
alter table time_series.chunks alter column data set storage external;
-- Months have partitions of their own; this is for days that are far away.
create table time_series.chunks_far partition of time_series.chunks default;

-- The newest sample of each set of each endpoint: the newest value of a series is in one of those that hold it.
create table time_series.latest (
  endpoint_no bigint not null,
  set_id integer not null,
  ts bigint not null,
  written bigint not null,
  v float8[] not null,
  x text,
  primary key (endpoint_no, set_id)
) with (fillfactor = 70);
-- Of each process that writes: up to where its samples are in that table. The rest is found in the samples.
create table time_series.latest_marks (
  node text primary key,
  written bigint not null,
  seen_date timestamptz not null
);
