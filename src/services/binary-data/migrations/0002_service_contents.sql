-- Contents that other services keep in the blob store, such as software files. The rows of those services say what a content is;
-- these rows protect it from the removal of orphans, count it in the quota and put it into backups.
create table binary_data.service_contents (
  tenant_id text collate "C" not null,
  content_key text collate "C" not null,
  service text collate "C" not null,
  size bigint not null,
  checksum text collate "C" not null,
  primary key (tenant_id, content_key)
);
create index service_contents_by_content on binary_data.service_contents (content_key);
