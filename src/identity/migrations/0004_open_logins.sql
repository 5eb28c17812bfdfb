-- The network from which a login was started, so that nobody can fill the table with logins that never end.
alter table identity.artefacts add column address text;
create index artefacts_open_logins on identity.artefacts (address) where model = 'Interaction';
