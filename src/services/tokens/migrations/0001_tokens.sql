-- Every key holds endpoint_id or application_name, so that the tables can be distributed. Collation C: ids, names and
-- hashes are ASCII, and their order is the same on every machine.
create schema tokens;

-- The endpoints that the register has told us of: whose they are decides who may see their tokens.
create table tokens.endpoints (
  endpoint_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  application_name text collate "C" not null
);
create index endpoints_of_tenant on tokens.endpoints (tenant_id);

-- The text of a token is nowhere: token_hash is HMAC-SHA-256 of application and text under the key below. The hash alone
-- would not do, because the ten characters of a generated token can be tried out.
create table tokens.tokens (
  endpoint_id text collate "C" not null references tokens.endpoints on delete cascade,
  endpoint_token_id text collate "C" not null,
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  token_hash text collate "C" not null,
  status text collate "C" not null check (status in ('Active', 'Inactive', 'Suspended', 'Revoked')),
  created_date timestamptz not null,
  updated_date timestamptz,
  primary key (endpoint_id, endpoint_token_id),
  unique (application_name, token_hash)
);

-- One row, sealed with the data key of the platform.
create table tokens.lookup_keys (
  id smallint primary key check (id = 1),
  sealed text not null
);
