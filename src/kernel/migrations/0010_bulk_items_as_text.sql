-- Items are written once and read once as a whole. As jsonb, PostgreSQL parsed them when they were stored and built their text again when
-- they were read.
alter table kernel.bulk_pages alter column items type json using items::json;
