-- Batches and the matching of filters are tasks of kernel.bulk_tasks from here on; what is under way goes on there.
insert into kernel.bulk_tasks (task_id, type, tenant_id, created_by, data, state, total, succeeded, failed, cursor,
  done_in_page, pages, page_size, created_at, touched_at, finished_at)
select b.task_id, 'register.batch', b.tenant_id,
  coalesce(b.creator -> 'subject', '{"type": "system", "id": "waypost"}'),
  jsonb_build_object('applicationName', b.application_name, 'versionName', b.version_name, 'creator', b.creator),
  case when i.pending > 0 then 'waiting' else 'finished' end, i.total, i.created, i.failed, i.done / 100, i.done % 100,
  (i.total + 99) / 100, 100, b.created_date, '-infinity', case when i.pending = 0 then b.created_date end
from register.batches b cross join lateral (
  select count(*) as total, count(*) filter (where state = 'created') as created,
    count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'pending') as pending,
    count(*) filter (where state <> 'pending') as done
  from register.batch_items i where i.tenant_id = b.tenant_id and i.task_id = b.task_id) i;

insert into kernel.bulk_pages (task_id, page, items, results, succeeded, failed)
select task_id, (position - 1) / 100,
  jsonb_agg(jsonb_strip_nulls(jsonb_build_object('endpointId', endpoint_id, 'endpointToken', endpoint_token))
    || case when metadata is null then '{}' else jsonb_build_object('metadata', metadata) end order by position),
  coalesce(jsonb_agg(case state
    when 'created' then jsonb_build_object('result', jsonb_build_object('endpointId', endpoint_id, 'endpointToken', endpoint_token))
    else jsonb_build_object('failed', coalesce(reason, '')) end order by position) filter (where state <> 'pending'), '[]'),
  count(*) filter (where state = 'created'), count(*) filter (where state = 'failed')
from register.batch_items group by task_id, (position - 1) / 100;

drop table register.batch_items;
drop table register.batches;

insert into kernel.bulk_tasks (task_id, type, tenant_id, created_by, data, state, cursor, touched_at)
select gen_random_uuid()::text, 'register.match-filter', tenant_id, '{"type": "system", "id": "waypost"}',
  jsonb_build_object('applicationName', application_name, 'filterId', filter_id, 'memberSet', member_set), 'waiting',
  matched_until, '-infinity'
from register.filters where status = 'pending';

-- How far the matching is stands in its task.
drop index register.filters_pending;
alter table register.filters drop column matched_until, drop column matched_date;
