import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether a dashboard is missing, belongs to another tenant or is not readable for the caller.
export const NoDashboard = defineError<{ dashboardId: string }>(
  'no_such_dashboard',
  404,
  'There is no dashboard {dashboardId}, or the caller may not read it',
)
export const NoDashboardVersion = defineError<{ dashboardId: string; version: string }>(
  'no_such_dashboard_version',
  404,
  'Dashboard {dashboardId} has no version {version}; old versions are deleted after a while',
)
export const NoTemplate = defineError<{ appVersionName: string }>(
  'no_dashboard_template',
  404,
  'There is no dashboard template of the version {appVersionName}, or the caller may not read it',
)
export const TooManyDashboards = defineError<{ max: string }>(
  'too_many_dashboards',
  409,
  'The tenant has {max} dashboards, which is the maximum; delete a dashboard first',
)
