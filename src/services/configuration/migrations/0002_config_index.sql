-- A batch reads its endpoints page by page, in the order of their ids.
drop index configuration.endpoint_configs_by_config;
create index endpoint_configs_by_config on configuration.endpoint_configs (tenant_id, config_id, endpoint_id);
