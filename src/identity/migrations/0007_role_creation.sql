-- Roles have no ids. The time of the creation distinguishes a role from a later one with the same name.
alter table identity.roles add column created_at timestamptz not null default now();
