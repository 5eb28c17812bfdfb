-- Whether the node lives is in kernel.nodes. A node has a mark while the table of latest values may lack something that it wrote.
alter table time_series.latest_marks drop column seen_date;

-- A place in the order of writes before which everything is in older slots; null for the moment between opening and asking for it.
alter table time_series.slots add column opened_written bigint;
update time_series.slots set opened_written = (extract(epoch from opened_date) * 1000000)::bigint where opened_date is not null;
