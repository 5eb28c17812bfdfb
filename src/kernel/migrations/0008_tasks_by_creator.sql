-- The list of a caller who sees only the tasks that it created.
create index bulk_tasks_by_creator on kernel.bulk_tasks (tenant_id, (created_by ->> 'id'), seq);
