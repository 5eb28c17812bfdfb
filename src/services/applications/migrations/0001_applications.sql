-- Application and version names are unique on the whole platform instance, so they alone are the keys; tenant_id is
-- beside them in every table for lists, for the deletion of a tenant and for checks. Collation C: names are ASCII,
-- and their order is the same on every machine.
create schema applications;

-- ISO 8601 with milliseconds, as the answers write it.
create function applications.moment(timestamptz) returns text language sql immutable
  return to_char($1 at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create table applications.applications (
  name text collate "C" primary key,
  tenant_id text not null,
  display_name text,
  description text,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  -- The JSON text that a reader gets, versions included; written in the transaction of every change.
  document text not null default ''
);
create index applications_of_tenant on applications.applications (tenant_id, name);

create table applications.versions (
  name text collate "C" primary key,
  application_name text collate "C" not null references applications.applications on delete cascade,
  tenant_id text not null,
  display_name text,
  description text,
  created_date timestamptz not null,
  updated_date timestamptz not null
);
create index versions_of_application on applications.versions (application_name, name);

-- Without a version: the application level.
create table applications.configurations (
  application_name text collate "C" not null references applications.applications on delete cascade,
  version_name text collate "C" references applications.versions on delete cascade,
  instance text collate "C" not null,
  tenant_id text not null,
  config jsonb not null,
  unique nulls not distinct (application_name, version_name, instance)
);
create index configurations_of_version on applications.configurations (version_name) where version_name is not null;
create index configurations_of_instance
  on applications.configurations (instance, application_name, (coalesce(version_name, '')));

create table applications.tenant_configurations (
  tenant_id text not null,
  instance text collate "C" not null,
  config jsonb not null,
  primary key (tenant_id, instance)
);
