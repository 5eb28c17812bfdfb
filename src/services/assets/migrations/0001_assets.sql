create schema assets;

create table assets.asset_types (
  asset_type_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  type text collate "C" not null,
  display_name text not null,
  description text,
  definition_json_schema text not null,
  ui_json_schema text,
  pool_ids text[],
  created_date timestamptz not null,
  updated_date timestamptz not null,
  -- Grows with every change, so that a definition is never stored by a schema that it was not validated with.
  revision bigint not null default 1,
  constraint asset_type_type unique (tenant_id, type)
);
create index asset_types_created on assets.asset_types (tenant_id, created_date desc, asset_type_id);

create table assets.assets (
  asset_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  asset_type_id text collate "C" not null references assets.asset_types (asset_type_id),
  -- The text as the caller sent it, not jsonb: it is returned unchanged.
  definition text not null,
  ui_json_schema text,
  pool_ids text[],
  -- The field `name` of the definition, for trees.
  name text,
  -- All texts and numbers of the definition in lower case, separated by U+0001.
  search_text text collate "C" not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  revision bigint not null default 1
);
create index assets_created on assets.assets (tenant_id, created_date desc, asset_id);
create index assets_updated on assets.assets (tenant_id, updated_date desc, asset_id);
create index assets_of_type on assets.assets (asset_type_id, created_date desc, asset_id);

-- Relations that exist now. CONTAINS between two endpoints is in register.relations.
create table assets.relations (
  tenant_id text collate "C" not null,
  from_type text collate "C" not null,
  from_id text collate "C" not null,
  to_type text collate "C" not null,
  to_id text collate "C" not null,
  type text collate "C" not null,
  created_date timestamptz not null,
  primary key (tenant_id, from_type, from_id, to_type, to_id, type)
);
create index relations_inbound on assets.relations (tenant_id, to_type, to_id, from_type, from_id, type);

-- Relations that have ended: each time in which a relation existed. The number orders them for readers.
create table assets.ended_relations (
  number bigint generated always as identity primary key,
  tenant_id text collate "C" not null,
  from_type text collate "C" not null,
  from_id text collate "C" not null,
  to_type text collate "C" not null,
  to_id text collate "C" not null,
  type text collate "C" not null,
  created_date timestamptz not null,
  ended_date timestamptz not null
);
create index ended_relations_outbound on assets.ended_relations (tenant_id, from_type, from_id, number);
create index ended_relations_inbound on assets.ended_relations (tenant_id, to_type, to_id, number);
