/** The status of an integration, device or gateway. */
export type Status = 'ACTIVE' | 'SUSPENDED'
