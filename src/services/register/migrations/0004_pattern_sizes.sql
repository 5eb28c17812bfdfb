-- How large the patterns of a filter are together: those of an application's filters are limited in all, because each change
-- of an endpoint may ask every one of them.
alter table register.filters add column pattern_size integer not null default 0;
