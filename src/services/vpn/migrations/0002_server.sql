-- Clients of a tenant that is not available are not let in.
alter table vpn.tenants add column available boolean not null default true;
