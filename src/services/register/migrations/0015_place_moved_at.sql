-- The time of the report that changed the place. A report of the same place changes only `at`, and then the directory stays unchanged.
alter table register.reported_places add column moved_at timestamptz not null default '-infinity';
