-- What clients (not endpoints) authenticate with. Every key starts with the tenant. Collation C: ids, names and
-- serial numbers are ASCII, and their order is the same on every machine.
create schema credentials;

create table credentials.basic (
  tenant_id text not null,
  id text collate "C" not null,
  username text collate "C" not null,
  -- bcrypt; the password itself is nowhere.
  password_hash text not null,
  state text not null check (state in ('Active', 'Inactive', 'Suspended', 'Revoked')),
  created_date timestamptz not null,
  updated_date timestamptz not null,
  last_use_date timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, username)
);
create index basic_by_age on credentials.basic (tenant_id, created_date, id);

-- Certificate authorities: one for each tenant, and the platform's own under the empty tenant, which signs theirs.
create table credentials.authorities (
  tenant_id text not null primary key,
  id text collate "C" not null,
  -- The distinguished name as node:crypto writes it: what a client certificate names as its issuer.
  subject text collate "C" not null,
  serial_number text collate "C" not null,
  certificate text not null,
  sealed_key text not null,
  invalid_after timestamptz not null,
  -- Counts what changes the revocation list; the list below is of `list_revision`.
  revision bigint not null default 1,
  list bytea,
  list_number bigint not null default 0,
  list_revision bigint not null default 0,
  list_date timestamptz
);
create index authorities_by_id on credentials.authorities (id);
create index authorities_by_subject on credentials.authorities (subject);

-- Authorities of tenants that are gone: on the platform's revocation list.
create table credentials.retired_authorities (
  tenant_id text not null,
  serial_number text collate "C" not null,
  retired_date timestamptz not null,
  primary key (tenant_id, serial_number)
);

create table credentials.certificates (
  tenant_id text not null references credentials.authorities on delete cascade,
  id text collate "C" not null,
  serial_number text collate "C" not null,
  common_name text not null,
  state text not null check (state in ('Active', 'Inactive', 'Suspended', 'Revoked')),
  invalid_after timestamptz not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  last_use_date timestamptz,
  -- Whether its coming expiry was told.
  expiry_told boolean not null default false,
  primary key (tenant_id, id),
  unique (tenant_id, serial_number)
);
create index certificates_by_age on credentials.certificates (tenant_id, created_date, id);
create index certificates_to_tell on credentials.certificates (invalid_after) where not expiry_told;
create index certificates_listed on credentials.certificates (tenant_id, serial_number)
  where state in ('Suspended', 'Revoked');
