-- `stamped` is true where the platform gave the sample its time, the time of arrival. Two such samples of an endpoint cannot have
-- the same time, whichever nodes received them: the unique key refuses the second. Null where the sample brought its own time.
alter table time_series.samples add column stamped boolean;
drop index time_series.samples_by_time;
create unique index samples_by_time on time_series.samples (endpoint_no, ts, stamped, slot);

-- The order of writes over all nodes (`samples.written`): each group of rows that a node commits has 256 numbers of its own.
create sequence time_series.write_order;

-- The first number of the next group. Numbers are not behind the database's clock in microseconds, so that they can serve as an age;
-- but only the sequence decides which of two is later. One caller at a time: between the look and `setval` nobody else may pass.
-- A statement of its own, not in a transaction with others: rows with this number become durable by a later commit, and the number
-- with them, so this one need not wait for the disk.
create function time_series.next_written() returns bigint language plpgsql as $$
declare
  number bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(hashtextextended('time-series.write-order', 0));
  select greatest(last_value + 256, (extract(epoch from clock_timestamp()) * 1000000)::bigint) into number
  from time_series.write_order;
  perform setval('time_series.write_order', number);
  return number;
end $$;
