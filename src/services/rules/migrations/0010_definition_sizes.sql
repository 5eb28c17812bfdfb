-- The approximate size of a definition in the memory of a node. The sum of a tenant is limited, because every node keeps all definitions.
alter table rules.rules
  add column bytes integer not null generated always as (1000 + octet_length(name) + octet_length(expression)) stored;
alter table rules.actions
  add column bytes integer not null generated always as
    (1000 + octet_length(name) + octet_length(fields::text) + octet_length(value_types::text)) stored;
-- The index of triggers has an entry for each endpoint of a trigger.
alter table rules.triggers
  add column bytes integer not null generated always as
    (1000 + octet_length(name) + octet_length(fields::text) + coalesce(octet_length(metadata::text), 0)
      + 200 * coalesce(cardinality(endpoint_ids), 0)) stored;
create index rules_bytes on rules.rules (tenant_id) include (bytes);
create index actions_bytes on rules.actions (tenant_id) include (bytes);
create index triggers_bytes on rules.triggers (tenant_id) include (bytes);
