-- Every key starts with tenant_id. Collation C: ids and names are ASCII, and their order is the same on every machine.
create schema configuration;

-- The JSON text of each configuration, stored once however many endpoints have it. A content never changes.
create table configuration.contents (
  tenant_id text collate "C" not null,
  config_id text collate "C" not null,
  config text not null,
  -- SHA-256 of the canonical JSON: equal values have equal digests.
  digest text collate "C" not null,
  primary key (tenant_id, config_id)
);

-- Contents that may have lost their last reference. The sweep checks this some minutes later and deletes them.
create table configuration.released_contents (
  tenant_id text collate "C" not null,
  config_id text collate "C" not null,
  released_date timestamptz not null
);
create index released_contents_age on configuration.released_contents (released_date);

create table configuration.defaults (
  tenant_id text collate "C" not null,
  version_name text collate "C" not null,
  name text collate "C" not null,
  application_name text collate "C" not null,
  config_id text collate "C" not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (tenant_id, version_name, name)
);

-- The configurations that endpoints have of their own, with the status of the current one. The columns of the status are in no index, so
-- that a report rewrites no index entry.
create table configuration.endpoint_configs (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  version_name text collate "C" not null,
  name text collate "C" not null,
  application_name text collate "C" not null,
  config_id text collate "C" not null,
  -- When the place got its first configuration, and its current one.
  created_date timestamptz not null,
  updated_date timestamptz not null,
  dispatched_date timestamptz,
  confirmed_date timestamptz,
  status_code integer,
  reason_phrase text,
  primary key (tenant_id, endpoint_id, version_name, name)
) with (fillfactor = 85);
create index endpoint_configs_by_config on configuration.endpoint_configs (tenant_id, config_id);
create index endpoint_configs_of_version on configuration.endpoint_configs (tenant_id, version_name, updated_date);
create index endpoint_configs_by_date on configuration.endpoint_configs (tenant_id, updated_date);

-- What endpoints were sent before: earlier configurations of their own, and defaults.
create table configuration.sent_configs (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  version_name text collate "C" not null,
  name text collate "C" not null,
  config_id text collate "C" not null,
  application_name text collate "C" not null,
  -- When the configuration became that of the endpoint or of the version: the order of lists.
  updated_date timestamptz not null,
  dispatched_date timestamptz,
  confirmed_date timestamptz,
  status_code integer,
  reason_phrase text,
  primary key (tenant_id, endpoint_id, version_name, name, config_id)
) with (fillfactor = 85);
create index sent_configs_by_config on configuration.sent_configs (tenant_id, config_id);
create index sent_configs_of_version on configuration.sent_configs (tenant_id, version_name, updated_date);
create index sent_configs_by_date on configuration.sent_configs (tenant_id, updated_date);

-- Values of the platform at four levels; devices never get them.
create table configuration.system_configs (
  tenant_id text collate "C" not null,
  config_id text collate "C" not null,
  level text collate "C" not null check (level in ('TENANT', 'APPLICATION', 'APP_VERSION', 'ENDPOINT')),
  -- The tenant, application, version or endpoint.
  entity_id text collate "C" not null,
  name text collate "C" not null,
  display_name text,
  config text not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (tenant_id, config_id),
  constraint system_config_name unique (tenant_id, level, entity_id, name)
);
