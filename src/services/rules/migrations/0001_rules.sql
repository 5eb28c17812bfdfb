create schema rules;

-- The writer of a script: scripts call the platform with the present permissions of who last wrote them (document 5, 5.14).
-- `alert_setting_id` marks the parts of an alert setting, which lists hide and which only the setting may change.
create table rules.rules (
  id uuid primary key,
  tenant_id text collate "C" not null,
  name text not null,
  description text,
  expression text not null,
  state text not null check (state in ('ENABLED', 'DISABLED')),
  ui_metadata text,
  version integer not null default 1,
  alert_setting_id uuid,
  writer_type text not null,
  writer_id text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index rules_by_tenant on rules.rules (tenant_id, created_at, id);
create index rules_by_alert_setting on rules.rules (alert_setting_id) where alert_setting_id is not null;

-- The last 100 versions of each rule. `fields` has what was written: name, description, expression, state, uiMetadata.
create table rules.rule_versions (
  rule_id uuid not null references rules.rules on delete cascade,
  version integer not null,
  tenant_id text collate "C" not null,
  fields jsonb not null,
  updated_at timestamptz not null,
  updated_by text not null,
  primary key (rule_id, version)
);

-- `fields` has the fields of the type; `value_types` tells for each attribute whether it is a SCRIPT or a LITERAL (5.4).
create table rules.actions (
  id uuid primary key,
  tenant_id text collate "C" not null,
  type text collate "C" not null,
  name text not null,
  description text,
  ui_metadata text,
  fields jsonb not null,
  value_types jsonb not null,
  -- The rule that a rule-execution action executes.
  executes uuid,
  alert_setting_id uuid,
  writer_type text not null,
  writer_id text not null,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index actions_by_tenant on rules.actions (tenant_id, type, created_at, id);
create index actions_by_executed_rule on rules.actions (executes) where executes is not null;
create index actions_by_alert_setting on rules.actions (alert_setting_id) where alert_setting_id is not null;

create table rules.triggers (
  id uuid primary key,
  tenant_id text collate "C" not null,
  type text collate "C" not null,
  name text not null,
  description text,
  ui_metadata text,
  metadata jsonb,
  -- Exactly one of these three; a schedule may have none.
  application_name text collate "C",
  version_name text collate "C",
  endpoint_ids text[] collate "C",
  -- The fields of the type: metadataKeys, timeSeriesNames, commandType, cronExpression, timezone and so on.
  fields jsonb not null,
  alert_setting_id uuid,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index triggers_by_tenant on rules.triggers (tenant_id, type, created_at, id);
create index triggers_by_alert_setting on rules.triggers (alert_setting_id) where alert_setting_id is not null;

create table rules.rule_triggers (
  rule_id uuid not null references rules.rules on delete cascade,
  trigger_id uuid not null references rules.triggers on delete cascade,
  tenant_id text collate "C" not null,
  position integer not null,
  primary key (rule_id, trigger_id)
);
create index rule_triggers_by_trigger on rules.rule_triggers (trigger_id);

-- An action may be both a positive and a negative action of one rule.
create table rules.rule_actions (
  rule_id uuid not null references rules.rules on delete cascade,
  action_id uuid not null references rules.actions on delete cascade,
  is_positive boolean not null,
  tenant_id text collate "C" not null,
  position integer not null,
  primary key (rule_id, is_positive, action_id)
);
create index rule_actions_by_action on rules.rule_actions (action_id);

-- Counted from traces, for rules and actions, in batches (5.7).
create table rules.statistics (
  entity_id uuid primary key,
  tenant_id text collate "C" not null,
  count bigint not null,
  total_ms double precision not null,
  min_ms double precision not null,
  max_ms double precision not null,
  last_ms double precision not null
);
create index statistics_by_tenant on rules.statistics (tenant_id);
