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

-- One value of one series of an application.
create table time_series.series (
  tenant_id text not null,
  application_name text not null,
  name text not null,
  value_name text not null,
  series_id integer generated always as identity,
  primary key (tenant_id, application_name, name, value_name)
);

-- The series of the values of a sample, in their order: a device sends the same ones again and again.
create table time_series.sets (
  tenant_id text not null,
  application_name text not null,
  series_ids integer[] not null,
  set_id integer generated always as identity,
  primary key (tenant_id, application_name, series_ids)
);

-- Samples as they came, in slots of arrival. Nothing is updated: of two with the same time the one written later counts.
create table time_series.slots (
  slot integer primary key,
  -- open: written to; closed: waits to be packed; packed: its chunks hold it all, and the partition goes.
  state text not null check (state in ('open', 'closed', 'packed')),
  opened_date timestamptz not null default now()
);
create unique index one_open_slot on time_series.slots (state) where state = 'open';

create table time_series.samples (
  slot integer not null,
  endpoint_no bigint not null,
  ts bigint not null,
  set_id integer not null,
  written bigint not null,
  v float8[] not null,
  -- What is not a number, by its place from 0; null where all are.
  x jsonb
) partition by list (slot);

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

create table time_series.latest (
  endpoint_no bigint not null,
  series_id integer not null,
  ts bigint not null,
  number float8,
  other jsonb,
  primary key (endpoint_no, series_id)
) with (fillfactor = 70);
-- Up to where the latest values are in that table: the rest is found in the samples.
create table time_series.latest_mark (
  node text primary key,
  written bigint not null
);
