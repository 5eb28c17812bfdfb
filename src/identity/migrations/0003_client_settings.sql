-- What a tenant registered for a client itself, in addition to the template of its realm: redirectUris, webOrigins, pkceRequired.
alter table identity.clients add column own jsonb not null default '{}';
