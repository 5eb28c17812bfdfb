create schema software;

-- Revisions never repeat, not even for an application that was deleted and created again.
create sequence software.revisions;

-- One row for each application that has or had software. Writers lock it. The revision changes with everything that decides about
-- targets, so a node knows whether the versions in its cache are current.
create table software.applications (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  revision bigint not null default nextval('software.revisions'),
  -- Numbers of versions are never reused: rows of endpoints may still have the number of a deleted version.
  last_number integer not null default 0,
  primary key (tenant_id, application_name)
);

create table software.versions (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  number integer not null,
  version text collate "C" not null,
  -- JSON texts, returned in the order of keys in which they were sent.
  specification text,
  metadata text,
  upgradable_from integer[] not null,
  rollout_strategy text not null check (rollout_strategy in ('suspended', 'targeted', 'general')),
  skip_dispatching boolean not null,
  filename text,
  failure_percent integer,
  minimum_attempts integer,
  rollout_state text not null default 'active' check (rollout_state in ('active', 'paused', 'halted')),
  reason text,
  -- Counts resumes; reports before the last one do not count for the failure threshold.
  epoch integer not null default 0,
  resumed_date timestamptz,
  file_id text collate "C",
  file_name text,
  file_size bigint,
  file_checksum text collate "C",
  file_date timestamptz,
  content_key text collate "C",
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (tenant_id, application_name, number),
  constraint version_name unique (tenant_id, application_name, version)
);
create index versions_by_file on software.versions (file_id) where file_id is not null;

create table software.rollout_filters (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  number integer not null,
  position integer not null,
  filter_id text collate "C" not null,
  rollout_date timestamptz,
  primary key (tenant_id, application_name, number, position)
);
create index rollout_filters_by_date on software.rollout_filters (rollout_date) where rollout_date is not null;

-- The filters that versions name. Each has a bit in the rows of endpoints, which may be reused when no version names the filter.
create table software.filters (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  filter_id text collate "C" not null,
  bit integer not null,
  -- True once the bit is correct in the rows of all endpoints. Until then the filter matches no endpoint.
  ready boolean not null default false,
  generation bigint not null default nextval('software.revisions'),
  primary key (tenant_id, application_name, filter_id),
  constraint filter_bit unique (tenant_id, application_name, bit)
);

-- Endpoints that have reported or were offered a version. The target is not stored: it follows from `current`, the filters and the
-- versions, so that a change of a version rewrites no rows here.
create table software.endpoints (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- Numbers of versions: last reported as applied; offered and not reported yet; rejected by the last report.
  current integer,
  offered integer,
  failed integer,
  status_code integer,
  -- One bit for each of the first 52 filters; the others are in the array.
  filter_mask bigint not null default 0,
  more_filters integer[],
  -- False until the filters of a new row have been read from the register.
  matched boolean not null default false,
  offered_date timestamptz,
  reported_date timestamptz,
  updated_date timestamptz not null,
  reason_phrase text,
  primary key (tenant_id, application_name, endpoint_id)
) with (fillfactor = 85);
create index endpoints_by_current on software.endpoints (tenant_id, application_name, current);

create table software.attempts (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  attempt bigint generated always as identity,
  version text collate "C" not null,
  offered_date timestamptz not null,
  reported_date timestamptz,
  status_code integer,
  reason_phrase text,
  primary key (tenant_id, endpoint_id, attempt)
);

-- The last report of an endpoint about a version.
create table software.reports (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  number integer not null,
  endpoint_id text collate "C" not null,
  epoch integer not null,
  failed boolean not null,
  reported_date timestamptz not null,
  primary key (tenant_id, application_name, number, endpoint_id)
);
-- Sums of the reports of an epoch, in 16 rows so that devices that report at the same time seldom wait for each other.
create table software.report_counts (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  number integer not null,
  epoch integer not null,
  shard smallint not null,
  reported bigint not null,
  failed bigint not null,
  primary key (tenant_id, application_name, number, epoch, shard)
) with (fillfactor = 70);
