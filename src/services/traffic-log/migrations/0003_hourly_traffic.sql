-- Bytes of a payload as it was sent: it may be cut, or stored as base64.
create function traffic_log.payload_bytes(payload text, additional_metadata text) returns bigint
  language sql immutable parallel safe as $$
  select case
    when additional_metadata like '%"payloadBytes"%' then (additional_metadata::jsonb ->> 'payloadBytes')::bigint
    when additional_metadata like '%"encoding":"base64"%' then octet_length(decode(payload, 'base64'))
    else octet_length(payload) end
$$;

-- Messages and bytes of everything before counted_until, for each hour, application version and direction.
create table traffic_log.hourly (
  tenant_id text collate "C" not null,
  since timestamptz not null,
  application_name text collate "C" not null,
  version_name text collate "C" not null,
  outbound boolean not null,
  messages bigint not null,
  bytes bigint not null,
  primary key (tenant_id, since, application_name, version_name, outbound)
);

insert into traffic_log.hourly
select tenant_id, date_bin('1 hour', created_at, timestamptz 'epoch') as hour, application_name, version_name, outbound, count(*),
  sum(traffic_log.payload_bytes(payload, additional_metadata))
from traffic_log.records where created_at < (select counted_until from traffic_log.counting)
group by tenant_id, hour, application_name, version_name, outbound;
