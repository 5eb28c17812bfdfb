-- Events that rules are to run for, in the order in which they were stored. A row has events of one tenant that were stored in one
-- transaction; the node that stored them runs them, and deletes the row in the transaction that writes their traces.
create table rules.events (
  id bigint generated always as identity primary key,
  node_id text collate "C" not null,
  tenant_id text collate "C" not null,
  -- Hashes of the endpoints, so that a node can find earlier events of the same endpoints at other nodes.
  buckets integer[] not null,
  content text not null,
  -- True if another node stored the row and has died since.
  is_taken_over boolean not null default false,
  takeovers smallint not null default 0,
  created_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index events_of_node on rules.events (node_id, tenant_id, id);
create index events_of_tenant on rules.events (tenant_id, id);

-- A partition for each day (UTC), made ahead and dropped by age. `metadata` and `event` are JSON texts; nothing searches inside them.
create table rules.traces (
  created_at timestamptz not null,
  id uuid not null,
  trace_id uuid not null,
  entity_id uuid not null,
  is_failure boolean not null,
  is_on_demand boolean not null,
  duration_ms double precision not null,
  tenant_id text collate "C" not null,
  entity_type text collate "C" not null,
  raised_on_id text collate "C" not null,
  stage text collate "C",
  reason text,
  metadata text not null,
  -- Of a rule that a trigger started: the event, so that it can be tried again.
  event text
) partition by range (created_at);
-- Ids of chains begin with their time, so that all of these indexes grow at few places.
create index traces_of_chain on rules.traces (trace_id);
create index traces_of_entity on rules.traces (entity_id, created_at);
create index traces_of_raiser on rules.traces (hashtextextended(raised_on_id, 0), created_at);
create index traces_of_tenant on rules.traces (tenant_id, created_at);

-- Numbers of traces by day, written with the traces and added up by a periodic task: totals of long lists and statistics come from them.
create table rules.trace_sums (
  day date not null,
  tenant_id text collate "C" not null,
  entity_id uuid not null,
  count bigint not null,
  primary key (day, tenant_id, entity_id)
) with (fillfactor = 70);
create index trace_sums_of_entity on rules.trace_sums (tenant_id, entity_id);

create table rules.trace_changes (
  id bigint generated always as identity primary key,
  tenant_id text collate "C" not null,
  entity_id uuid not null,
  entity_type text collate "C" not null,
  day date not null,
  count integer not null,
  total_ms double precision not null,
  min_ms double precision not null,
  max_ms double precision not null,
  last_ms double precision not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Events that the platform itself could not run after five tries.
create table rules.dead_letters (
  id uuid primary key,
  tenant_id text collate "C" not null,
  rule_id uuid not null,
  trigger_id uuid not null,
  endpoint_id text collate "C",
  event_id text not null,
  reason text not null,
  event text not null,
  created_at timestamptz not null
);
create index dead_letters_of_tenant on rules.dead_letters (tenant_id, created_at, id);

-- The node that inserts a tick runs it.
create table rules.cron_ticks (
  trigger_id uuid not null,
  planned_at timestamptz not null,
  primary key (trigger_id, planned_at)
);
create index cron_ticks_by_time on rules.cron_ticks (planned_at);

-- `position` is the time of the last message that was replayed; a node that takes a replay over continues there.
create table rules.replays (
  id uuid primary key,
  tenant_id text collate "C" not null,
  rule_id uuid not null,
  node_id text collate "C" not null,
  status text not null check (status in ('RUNNING', 'COMPLETED', 'FAILED')),
  reason text,
  expression text not null,
  endpoint_ids text[] collate "C",
  from_time timestamptz not null,
  to_time timestamptz not null,
  position timestamptz not null,
  events_count integer not null default 0,
  skipped_count integer not null default 0,
  differences jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index replays_running on rules.replays (node_id) where status = 'RUNNING';
create index replays_of_rule on rules.replays (tenant_id, rule_id);
