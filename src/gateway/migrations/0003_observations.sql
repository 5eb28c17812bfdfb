create schema if not exists gateway;

-- What devices said with `observe`: without a row, everything is pushed to them. The name '' stands for all names of the
-- extension that have no row of their own.
create table gateway.observations (
  endpoint_id text collate "C" not null,
  extension text collate "C" not null,
  name text collate "C" not null,
  tenant_id text collate "C" not null,
  observed boolean not null,
  set_at timestamptz not null,
  primary key (endpoint_id, extension, name)
);
create index observations_of_tenant on gateway.observations (tenant_id);
