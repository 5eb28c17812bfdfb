-- An issuer with an audience belongs to the tenant that registered them first (document 5, 10.5). Registrations without an audience stay
-- in the list, but accept no tokens any more.
delete from identity.issuers a using identity.issuers b
where a.issuer = b.issuer and a.audience = b.audience
  and (b.created_at, b.tenant_id, b.id) < (a.created_at, a.tenant_id, a.id);
alter table identity.issuers drop constraint issuers_issuer_tenant_id_key;
alter table identity.issuers add constraint issuer_of_one_tenant unique (issuer, audience);
