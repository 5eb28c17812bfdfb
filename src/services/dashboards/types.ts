import type { Definition } from './definition-schemas.ts'

export interface DashboardInput {
  name: string
  description?: string
  definition: Definition
}

export interface SummaryRow {
  dashboardId: string
  tenantId: string
  name: string
  description: string | null
  ownerType: string
  ownerId: string
  ownerName: string | null
  version: number
  createdDate: Date
  updatedDate: Date
}

export interface DashboardRow extends SummaryRow {
  /** The definition as JSON text. */
  definition: string
}

export interface VersionSummaryRow {
  version: number
  name: string
  description: string | null
  authorType: string
  authorId: string
  authorName: string | null
  createdDate: Date
}

export interface VersionRow extends VersionSummaryRow {
  definition: string
}

export interface TemplateRow {
  appVersionName: string
  tenantId: string
  applicationName: string
  name: string
  description: string | null
  definition: string
  updatedDate: Date
}
