-- Several changes of a secret within an hour leave several old secrets valid: [{"sealed": text, "until": timestamp}], the oldest first.
alter table identity.clients add column old_secrets jsonb not null default '[]';
update identity.clients
set old_secrets = jsonb_build_array(jsonb_build_object('sealed', old_secret_sealed, 'until', old_secret_until))
where old_secret_sealed is not null and old_secret_until > now();
alter table identity.clients drop column old_secret_sealed, drop column old_secret_until;
