import { contract } from '../../kernel/contract.ts'

/** The contract is empty, because no other service calls this service. */
export type Dashboards = Record<never, never>
export const Dashboards = contract<Dashboards>('dashboards')

/** Name of a dashboard in permissions. */
export const dashboardResourceName = (dashboardId: string) => `dashboard-${dashboardId}`
