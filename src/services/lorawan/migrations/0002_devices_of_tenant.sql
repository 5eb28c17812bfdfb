create index device_integrations_of_tenant on lorawan.device_integrations (tenant_id);
