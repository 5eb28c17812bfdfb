-- Grants that somebody gave. Their number is limited (iam/grants/service.ts), and is counted without the grants of creators.
create index grants_given on identity.grants (tenant_id, subject_type, subject_id) where not by_creation;
