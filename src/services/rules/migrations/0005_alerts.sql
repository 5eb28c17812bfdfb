-- Alerts of endpoints, and of the tenant itself. `severity` is the rank: 0 INFO, 1 LOW, 2 MEDIUM, 3 HIGH, 4 CRITICAL.
create table rules.alerts (
  id uuid primary key,
  tenant_id text collate "C" not null,
  alert_type text collate "C" not null,
  severity smallint not null,
  entity_type text collate "C" not null check (entity_type in ('ENDPOINT', 'TENANT')),
  entity_id text collate "C" not null,
  -- Of the endpoint, for permissions; null for an alert of the tenant.
  application_name text collate "C",
  state text collate "C" not null check (state in ('OPEN', 'RESOLVED')),
  is_acknowledged boolean not null default false,
  message text,
  resolve_reason text,
  started_at timestamptz not null,
  last_active_at timestamptz not null,
  resolved_at timestamptz,
  alert_setting_id uuid,
  metadata jsonb not null default '{}',
  entity_metadata jsonb
) with (fillfactor = 80);
-- The database decides between nodes: an entity has one open alert of a type.
create unique index alerts_open on rules.alerts (tenant_id, entity_type, entity_id, alert_type) where state = 'OPEN';
create index alerts_by_start on rules.alerts (tenant_id, started_at, id);
create index alerts_by_activity on rules.alerts (tenant_id, last_active_at, id);
create index alerts_by_severity on rules.alerts (tenant_id, severity, id);
create index alerts_open_by_start on rules.alerts (tenant_id, started_at, id) where state = 'OPEN';
create index alerts_by_entity on rules.alerts (tenant_id, entity_id, started_at, id);
create index alerts_by_type on rules.alerts (tenant_id, alert_type, started_at, id);
create index alerts_by_application on rules.alerts (tenant_id, application_name, started_at, id);
create index alerts_by_setting on rules.alerts (alert_setting_id, started_at, id) where alert_setting_id is not null;
create index alerts_by_resolution on rules.alerts (resolved_at) where state = 'RESOLVED';
create index alerts_by_metadata on rules.alerts using gin (metadata jsonb_path_ops);
create index alerts_by_entity_metadata on rules.alerts using gin (entity_metadata jsonb_path_ops);

create table rules.alert_events (
  id uuid primary key,
  alert_id uuid not null references rules.alerts on delete cascade,
  event_type text collate "C" not null check (event_type in ('ACTIVATED', 'UPDATED', 'ACKNOWLEDGED', 'RESOLVED')),
  created_at timestamptz not null,
  -- Who made the change; null for a rule.
  user_id text,
  payload jsonb not null
);
create index alert_events_of_alert on rules.alert_events (alert_id, created_at, id);
