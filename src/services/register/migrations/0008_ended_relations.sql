-- Relations that have ended: each time in which a relation existed. Current relations are in register.relations. The number orders them
-- for readers.
create table register.ended_relations (
  number bigint generated always as identity primary key,
  tenant_id text collate "C" not null,
  from_id text collate "C" not null,
  to_id text collate "C" not null,
  type text collate "C" not null,
  created_date timestamptz not null,
  ended_date timestamptz not null
);
create index ended_relations_outbound on register.ended_relations (tenant_id, from_id, number);
create index ended_relations_inbound on register.ended_relations (tenant_id, to_id, number);
