-- Grows with every change of a tenant's definitions. `changed_xid` lets a node find the tenants that changed since its last check,
-- without comparing clocks and without missing transactions that commit late.
create table rules.revisions (
  tenant_id text collate "C" primary key,
  revision bigint not null,
  changed_xid xid8 not null
);
create index revisions_by_xid on rules.revisions (changed_xid);

-- The ids that changed with each revision, so that a node reads only these. Rows are deleted after an hour.
create table rules.changes (
  tenant_id text collate "C" not null,
  revision bigint not null,
  ids uuid[] not null,
  changed_at timestamptz not null,
  primary key (tenant_id, revision)
);
create index changes_by_time on rules.changes (changed_at);

create table rules.snippets (
  id uuid primary key,
  tenant_id text collate "C" not null,
  name text not null,
  description text,
  code text not null,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index snippets_by_tenant on rules.snippets (tenant_id, created_at, id);

-- `value` is sealed with the data key of the platform.
create table rules.secrets (
  id uuid primary key,
  tenant_id text collate "C" not null,
  name text collate "C" not null,
  description text,
  value text not null,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint secret_name unique (tenant_id, name)
);

-- `fields` has the fields as they were written. `parts` has the ids of the rules, triggers and actions that are made from them.
create table rules.alert_settings (
  id uuid primary key,
  tenant_id text collate "C" not null,
  name text not null,
  description text,
  ui_metadata text,
  state text not null check (state in ('ENABLED', 'DISABLED')),
  fields jsonb not null,
  parts jsonb not null,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index alert_settings_by_tenant on rules.alert_settings (tenant_id, created_at, id);
