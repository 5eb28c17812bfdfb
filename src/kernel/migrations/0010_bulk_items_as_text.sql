-- Items are written once and read once as a whole. As jsonb, PostgreSQL parsed them when they were stored and built their text again when
-- they were read. Compressing them took as long as storing an endpoint in an index: they are kept for a week only.
alter table kernel.bulk_pages alter column items type json using items::json, alter column items set storage external;
