create schema dashboards;

create table dashboards.dashboards (
  dashboard_id text primary key,
  tenant_id text not null,
  name text not null,
  description text,
  -- JSON text, stored as it was checked.
  definition text not null,
  owner_type text not null,
  owner_id text not null,
  owner_name text,
  version integer not null,
  created_date timestamptz not null,
  updated_date timestamptz not null
);
create index dashboards_by_name on dashboards.dashboards (tenant_id, lower(name), dashboard_id);

-- Every version, also the current one.
create table dashboards.versions (
  dashboard_id text not null references dashboards.dashboards on delete cascade,
  version integer not null,
  name text not null,
  description text,
  definition text not null,
  author_type text not null,
  author_id text not null,
  author_name text,
  created_date timestamptz not null,
  primary key (dashboard_id, version)
);

-- Dashboards that versions of applications bring.
create table dashboards.templates (
  app_version_name text primary key,
  tenant_id text not null,
  application_name text not null,
  name text not null,
  description text,
  definition text not null,
  updated_date timestamptz not null
);
create index templates_of_tenant on dashboards.templates (tenant_id, application_name);
