-- Preferences of users, also of users of external issuers, who have no row in users.
create table identity.preferences (
  tenant_id text not null references identity.realms on delete cascade,
  user_id text not null,
  document jsonb not null,
  updated_at timestamptz not null,
  primary key (tenant_id, user_id)
);

-- The program that logged in, so that users recognise their sessions. `address` of a grant is the network of its login.
alter table identity.artefacts add column user_agent text;
