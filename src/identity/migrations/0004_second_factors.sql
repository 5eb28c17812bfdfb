alter table identity.realms add column second_factor text not null default 'off'
  check (second_factor in ('off', 'optional', 'required'));

create table identity.second_factors (
  tenant_id text not null,
  user_id text not null,
  id text not null,
  kind text not null check (kind in ('totp', 'webauthn')),
  name text not null,
  -- TOTP: the shared secret, and the time step of the newest accepted code: no code is accepted twice.
  secret_sealed text,
  last_step bigint,
  -- WebAuthn: id and public key of the credential, and its counter.
  credential_id text,
  public_key bytea,
  counter bigint not null default 0,
  transports text[] not null default '{}',
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, user_id) references identity.users on delete cascade
);
create index second_factors_user on identity.second_factors (tenant_id, user_id);
create unique index second_factors_credential on identity.second_factors (tenant_id, credential_id)
  where credential_id is not null;

-- SHA-256 of codes with 80 random bits; a row is deleted when its code is used.
create table identity.recovery_codes (
  tenant_id text not null,
  user_id text not null,
  hash bytea not null,
  primary key (tenant_id, user_id, hash),
  foreign key (tenant_id, user_id) references identity.users on delete cascade
);
