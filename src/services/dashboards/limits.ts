/** Maximum number of dashboards of one tenant. */
export const dashboardsMax = 2000
/** Maximum number of versions that are kept for one dashboard. */
export const versionsMax = 50
export const bodyBytesMax = 256 * 1024
