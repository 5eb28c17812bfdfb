-- 0 is without a limit of the package.
alter table tenants.package_types add column requests_per_second bigint not null default 0;
