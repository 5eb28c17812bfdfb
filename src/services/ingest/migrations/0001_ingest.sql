-- Collation C: ids and names are ASCII, and their order is the same on every machine.
create schema ingest;

-- The version of a tenant's pipelines, which increases with every change. Its row lock puts changes of pipelines and
-- templates in order, so that a template never names a pipeline that is being deleted.
create table ingest.pipeline_sets (
  tenant_id text collate "C" primary key,
  version bigint not null
);

create table ingest.pipelines (
  tenant_id text collate "C" not null,
  pipeline_id text collate "C" not null,
  -- JSON text as it was sent: integers keep their 64 bits, and fields their order.
  definition text not null,
  updated_at timestamptz not null,
  primary key (tenant_id, pipeline_id)
);

-- The number that stands for an application in the table of documents. It stays when the template is deleted, because the
-- documents stay, and goes with the application.
create table ingest.indices (
  index_no integer generated always as identity primary key,
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  -- True if a pipeline changed @timestamp, endpointId, tenantId, appName or appVersionName of a document: then the columns do not
  -- tell them, and @timestamp is not the arrival.
  envelope_changed boolean not null default false,
  unique (tenant_id, application_name)
);

create table ingest.templates (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  index_no integer not null,
  -- JSON text of settings and mappings.
  template text not null,
  default_pipeline text collate "C",
  -- Null: the setting of the platform. 0: for ever.
  retention_days integer,
  updated_at timestamptz not null,
  primary key (tenant_id, application_name)
);
create index templates_of_pipeline on ingest.templates (tenant_id, default_pipeline) where default_pipeline is not null;

-- The fields that documents of an index had, for mappings and for the choice of the statement of a search.
create table ingest.fields (
  index_no integer not null,
  path text collate "C" not null,
  -- boolean, long, double, date, text or object.
  type text collate "C" not null,
  -- True if a list was on the path, or the value was one.
  listed boolean not null,
  primary key (index_no, path, type, listed)
);

-- A partition for each day (UTC) of arrival, made ahead and dropped by age.
create table ingest.documents (
  arrived_at timestamptz not null,
  -- `@timestamp` of the document; null if it has none.
  ts timestamptz,
  index_no integer not null,
  id uuid not null,
  -- The endpoint that sent the sample, whatever the document says: permissions go by it.
  endpoint_id text collate "C" not null,
  version_name text collate "C" not null,
  doc jsonb not null,
  -- Makes a repeated write harmless. Ids begin with the time, so rows come in the order of the index.
  primary key (id, arrived_at)
) partition by range (arrived_at);
create index documents_of_index on ingest.documents (index_no, ts);
-- The hash of an id is 8 bytes instead of 36.
create index documents_of_endpoint on ingest.documents (hashtextextended(endpoint_id, 0), ts);

-- Endpoints that were unregistered: callers with a permission on a new endpoint of the same id do not see older documents.
create table ingest.unregistered (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  unregistered_at timestamptz not null,
  primary key (tenant_id, endpoint_id)
);
create index unregistered_age on ingest.unregistered (unregistered_at);

-- Documents that wait for the external search engine, in the order in which they are sent.
create table ingest.outgoing (
  no bigint generated always as identity primary key,
  id uuid not null,
  arrived_at timestamptz not null,
  index_no integer not null,
  endpoint_id text collate "C" not null,
  doc text not null,
  unique (id)
);

-- A date in a document: ISO 8601, else null. Texts of devices may look like a date without being one, such as 2026-02-31, and a
-- cast would fail. The time zone of the session is UTC.
create function ingest.date_of(value text) returns timestamptz language sql stable parallel safe as $$
  select case when value ~ '^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?([Zz]|[+-](0\d|1[0-4])(:?[0-5]\d)?)?)?$'
    then case when substr(value, 9, 2)::int
        <= extract(day from make_date(substr(value, 1, 4)::int, substr(value, 6, 2)::int, 1) + interval '1 month - 1 day')
      then value::timestamptz end end
$$;
