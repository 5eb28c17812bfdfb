import { contract } from '../../kernel/contract.ts'

/** The service has no functions for others. */
export type Dashboards = Record<never, never>
export const Dashboards = contract<Dashboards>('dashboards')

/** Name of a dashboard in permissions. */
export const dashboardResourceName = (dashboardId: string) => `dashboard-${dashboardId}`
