create schema identity;

-- A tenant is a row, not a heap of objects: nothing of a realm is in memory until it is used.
create table identity.realms (
  tenant_id text primary key,
  display_name text,
  login_theme text,
  status text not null,
  access_token_seconds integer not null default 300,
  refresh_token_seconds integer not null default 1800,
  frontend_client_id text not null,
  backend_client_id text not null,
  -- Signs the login session's cookies.
  cookie_key_sealed text not null,
  -- Grows with every change of the realm, its clients or its keys: what is cached knows whether it is current.
  revision bigint not null default 1,
  created_at timestamptz not null default now()
);

create table identity.clients (
  tenant_id text not null references identity.realms on delete cascade,
  id text not null,
  kind text not null check (kind in ('frontend', 'backend')),
  redirect_uris text[] not null default '{}',
  web_origins text[] not null default '{}',
  -- Roles of the client's service account.
  roles text[] not null default '{}',
  -- Sealed, because tenant manager v1 shows it again; null for the public client.
  secret_sealed text,
  -- The one before, valid for an hour after a change.
  old_secret_sealed text,
  old_secret_until timestamptz,
  primary key (tenant_id, id)
);

create table identity.signing_keys (
  tenant_id text not null references identity.realms on delete cascade,
  kid text not null,
  public_jwk jsonb not null,
  private_jwk_sealed text not null,
  created_at timestamptz not null default now(),
  -- No longer signs; still verifies what it has signed.
  retired_at timestamptz,
  primary key (tenant_id, kid)
);

create table identity.users (
  tenant_id text not null references identity.realms on delete cascade,
  id text not null,
  username text not null,
  email text,
  first_name text,
  last_name text,
  password_hash text,
  enabled boolean not null default true,
  roles text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index users_username on identity.users (tenant_id, lower(username));
create index users_email on identity.users (tenant_id, lower(email));

create table identity.roles (
  tenant_id text not null references identity.realms on delete cascade,
  name text not null,
  description text,
  -- Held on tenant-system.
  scopes text[] not null default '{}',
  -- Held on platform-system; only in realm platform.
  platform_scopes text[] not null default '{}',
  built_in boolean not null default false,
  primary key (tenant_id, name)
);

create table identity.resources (
  tenant_id text not null references identity.realms on delete cascade,
  name text not null,
  type text not null,
  display_name text not null,
  scopes text[] not null default '{}',
  primary key (tenant_id, name)
);

create table identity.grants (
  tenant_id text not null references identity.realms on delete cascade,
  id text not null,
  subject_type text not null check (subject_type in ('user', 'role', 'client', 'api-key')),
  subject_id text not null,
  resource text not null,
  scopes text[] not null,
  -- Held because the subject made the resource; those who hold everything anyway do not carry these along.
  by_creation boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index grants_subject on identity.grants (tenant_id, subject_type, subject_id);
create index grants_resource on identity.grants (tenant_id, resource);

create table identity.api_keys (
  tenant_id text not null references identity.realms on delete cascade,
  id text not null,
  name text not null,
  -- SHA-256 of the key: it is long and random, a slow hash would add nothing.
  hash bytea not null unique,
  -- Whose permissions it carries, or a part of them.
  owner_type text not null check (owner_type in ('user', 'client')),
  owner_id text not null,
  scopes text[],
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index api_keys_owner on identity.api_keys (tenant_id, owner_type, owner_id);

create table identity.issuers (
  tenant_id text not null references identity.realms on delete cascade,
  id text not null,
  issuer text not null,
  -- Tenants that share an issuer are told apart by it.
  audience text,
  roles_claim text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (issuer, tenant_id)
);

-- What the OpenID Connect provider keeps: sessions, codes, refresh tokens, interactions. Ids are hashes.
create table identity.artefacts (
  tenant_id text not null references identity.realms on delete cascade,
  model text not null,
  id bytea not null,
  payload jsonb not null,
  -- The login that it belongs to: a grant names itself here.
  grant_id text,
  uid text,
  -- The user, so that everything of a user can end at once.
  account_id text,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (tenant_id, model, id)
);
create index artefacts_grant on identity.artefacts (tenant_id, grant_id) where grant_id is not null;
create index artefacts_uid on identity.artefacts (tenant_id, uid) where uid is not null;
create index artefacts_account on identity.artefacts (tenant_id, account_id) where account_id is not null;
create index artefacts_expiry on identity.artefacts (expires_at);

-- Access tokens (`jti:…`) and login sessions (`sid:…`) that ended before they expired.
create table identity.denied (
  tenant_id text not null,
  id text not null,
  expires_at timestamptz not null,
  primary key (tenant_id, id)
);
create index denied_expiry on identity.denied (expires_at);

-- Wrong passwords and secrets, counted per account and per address; keys are hashes of what was tried.
create table identity.attempts (
  key bytea primary key,
  failures integer not null,
  -- Attempts that are being checked: they take a place, but nobody knows yet whether they are wrong.
  pending integer not null default 0,
  pending_at timestamptz,
  window_started_at timestamptz not null,
  locked_until timestamptz,
  locks integer not null default 0,
  updated_at timestamptz not null
);
create index attempts_age on identity.attempts (updated_at);
